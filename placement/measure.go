package placement

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"llmgw.io/llmgw/inventory"
)

// A node's fragmentation is how many of its free devices the next request of
// the mix is expected not to be able to use there: the measure of "Beware of
// Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient
// Descent" (USENIX ATC 2023), with what else a node must have for a request
// (its engine, pool and labels) taken into account.

// bank is the devices of one kind on a host.
type bank struct {
	table *table
	class inventory.Class
	// unit is a whole device, in MiB; 1 where its size is unknown.
	unit int64
	// free is what is left of each healthy device, in descending order.
	free []int64
	// lost is the fragmentation as things stand, in devices.
	lost float64
	// all counts the bank's devices.
	all int
}

// left is the free part of all devices, in devices.
func (b *bank) left() float64 {
	var sum int64
	for _, f := range b.free {
		sum += f
	}
	return float64(sum) / float64(b.unit)
}

// table is how likely the next request can use a kind of device on a node,
// given its free cores. Requests that differ only in cores share a group.
type table struct {
	groups []group     // by need, the largest first
	cores  []int64     // distinct needs, ascending
	rows   [][]float64 // by how many of cores are met, then by group
}

// group is requests for so many devices, with so much of each.
type group struct {
	devices int
	needMB  int64
}

// ask is one request that a bank could serve, with its share of the mix.
type ask struct {
	group
	cores  int64
	chance float64
}

func newTable(asks []ask) *table {
	t := &table{}
	for _, a := range asks {
		t.groups = append(t.groups, a.group)
		t.cores = append(t.cores, a.cores)
	}
	slices.SortFunc(t.groups, func(a, b group) int {
		return cmp.Or(cmp.Compare(b.needMB, a.needMB), cmp.Compare(a.devices, b.devices))
	})
	t.groups = slices.Compact(t.groups)
	slices.Sort(t.cores)
	t.cores = slices.Compact(t.cores)
	t.rows = make([][]float64, len(t.cores)+1)
	for met := range t.rows {
		row := make([]float64, len(t.groups))
		for _, a := range asks {
			if met > 0 && a.cores <= t.cores[met-1] {
				row[slices.Index(t.groups, a.group)] += a.chance
			}
		}
		t.rows[met] = row
	}
	return t
}

// lost is the fragmentation of free devices beside so many free cores. free is
// in descending order.
func (t *table) lost(cores int64, free []int64, unit int64) float64 {
	var all int64
	for _, f := range free {
		all += f
	}
	if all == 0 {
		return 0
	}
	lo, hi := 0, len(t.cores)
	for lo < hi {
		if mid := (lo + hi) / 2; t.cores[mid] <= cores {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	row := t.rows[lo]
	var usable int64
	used, i := 0.0, 0
	for k, g := range t.groups {
		for i < len(free) && free[i] >= g.needMB {
			usable += free[i]
			i++
		}
		if i >= g.devices {
			used += row[k] * float64(usable)
		}
	}
	return (float64(all) - used) / float64(unit)
}

// measurer finds the tables of hosts, each made once.
type measurer struct {
	parts  []measuredPart
	tables map[string]*table
	kinds  map[deviceKind]int32
	// labels are those that profiles of the mix ask for, in order, and fits is
	// what each kind of node could serve of it.
	labels []string
	fits   map[string][]uint8
	asks   []ask
	key    []byte
}

// measuredPart is a model of the mix with its share, and its profiles that are
// placed.
type measuredPart struct {
	chance   float64
	profiles []*query
}

// usualSizes stand for a mix that nobody gave.
var usualSizes = []int{1, 2, 4, 8}

func newMeasurer(m Mix) *measurer {
	out := &measurer{tables: map[string]*table{}, kinds: map[deviceKind]int32{}, fits: map[string][]uint8{}}
	sum := 0.0
	for _, p := range m.Parts {
		part := measuredPart{chance: p.Weight}
		req := Request{Model: p.Model}
		for _, profile := range req.profiles() {
			q := newQuery(Placer{}, req, profile)
			part.profiles = append(part.profiles, q)
			out.labels = append(out.labels, q.labels...)
		}
		if len(part.profiles) == 0 || p.Weight <= 0 {
			continue
		}
		// A group asks for as many nodes as it has shards.
		part.chance *= float64(part.profiles[0].profile.ShardCount())
		sum += part.chance
		out.parts = append(out.parts, part)
	}
	for i := range out.parts {
		out.parts[i].chance /= sum
	}
	slices.Sort(out.labels)
	out.labels = slices.Compact(out.labels)
	return out
}

// survey finds what the node could serve of the mix, and its banks. It is asked
// again only when what the node is changes, not when what is placed does.
func (m *measurer) survey(h *host) {
	m.tellApart(h)
	h.suits = append(h.suits[:0], m.fit(h)...)
	h.banks = h.banks[:0]
	for i := range h.devices {
		d := &h.devices[i]
		at := slices.IndexFunc(h.devices[:i], func(o device) bool { return o.kind == d.kind })
		if at >= 0 {
			d.bank = h.devices[at].bank
			h.banks[d.bank].all++
			continue
		}
		if len(h.banks) == mostBanks {
			d.bank = -1 // a node of so many kinds is not measured further
			continue
		}
		d.bank = int8(len(h.banks))
		unit := max(1, d.nominalMB)
		h.banks = append(h.banks, bank{table: m.table(h, d, unit), class: d.of.Class, unit: unit, all: 1})
	}
}

// fit names, for each part of the mix, the profile with which a host could serve
// it. Hosts that are alike in all that is asked for answer the same.
func (m *measurer) fit(h *host) []uint8 {
	if len(m.parts) == 0 {
		return nil
	}
	key := append(append(m.key[:0], h.pool...), 0)
	for _, label := range m.labels {
		key = append(append(key, h.node.Label(label)...), 0)
	}
	key = strconv.AppendBool(key, h.node.Facts.Engines == nil)
	for i := range h.node.Facts.Engines {
		e := &h.node.Facts.Engines[i]
		key = append(append(append(append(key, e.Name...), 0), e.Build...), 0)
	}
	for i := range h.devices {
		key = strconv.AppendInt(append(key, '/'), int64(h.devices[i].kind), 10)
	}
	m.key = key
	if fits, known := m.fits[string(key)]; known {
		return fits
	}
	fits := make([]uint8, len(m.parts))
	for i := range m.parts {
		for at, q := range m.parts[i].profiles {
			if q.suits(h) {
				fits[i] = uint8(min(at, 254) + 1)
				break
			}
		}
	}
	m.fits[string(key)] = fits
	return fits
}

// mostBanks is the most kinds of devices that are told apart on a host.
const mostBanks = 64

// deviceKind is what devices have in common that are alike for every question
// about what they are.
type deviceKind struct {
	class      inventory.Class
	mig, known bool
	nominalMB  int64
	capability int32
}

// tellApart finds the kind of each of a host's devices.
func (m *measurer) tellApart(h *host) {
	for i := range h.devices {
		h.devices[i].kind = m.kind(h, i)
	}
}

// kind is the number of the kind of a host's device. Neighbours are mostly alike.
func (m *measurer) kind(h *host, i int) int32 {
	d := &h.devices[i]
	if i > 0 && h.devices[i-1].is() == d.is() {
		return h.devices[i-1].kind
	}
	number, known := m.kinds[d.is()]
	if !known {
		number = int32(len(m.kinds))
		m.kinds[d.is()] = number
	}
	return number
}

func (d *device) is() deviceKind {
	return deviceKind{d.of.Class, d.of.MIG(), d.capKnown, d.nominalMB, d.capability}
}

// table is the one for a device of a host.
func (m *measurer) table(h *host, d *device, unit int64) *table {
	m.key = append(m.key[:0], h.suits...)
	m.key = append(m.key, d.of.Class...)
	if d.of.MIG() {
		m.key = append(m.key, '!')
	}
	m.key = strconv.AppendInt(append(m.key, '/'), unit, 10)
	m.key = strconv.AppendInt(append(m.key, '/'), int64(d.capability), 10)
	if t := m.tables[string(m.key)]; t != nil {
		return t
	}
	t := newTable(m.asksOf(h, d, unit))
	m.tables[string(m.key)] = t
	return t
}

func (m *measurer) asksOf(h *host, d *device, unit int64) []ask {
	m.asks = m.asks[:0]
	if len(m.parts) == 0 {
		for _, n := range usualSizes {
			if n == 1 || !d.of.MIG() {
				m.asks = append(m.asks, ask{group: group{devices: n, needMB: unit}, chance: 1 / float64(len(usualSizes))})
			}
		}
	}
	sum := 0.0
	for i := range m.parts {
		p := &m.parts[i]
		chance := p.chance * math.Pow(min(1, p.profiles[0].size(unit)), rarity)
		sum += chance
		if h.suits[i] == 0 {
			continue
		}
		q := p.profiles[h.suits[i]-1]
		if q.need.devices == 0 || !q.suitsDevice(d) {
			continue
		}
		a := ask{group: group{devices: q.need.devices, needMB: unit}, cores: int64(q.need.cores), chance: chance}
		if q.need.shared {
			a.needMB = min(unit, q.need.deviceMB)
		}
		m.asks = append(m.asks, a)
	}
	for i := range m.asks {
		if len(m.parts) > 0 {
			m.asks[i].chance /= sum
		}
	}
	return m.asks
}

// weigh works out what is free in the host's banks, and what of it is lost.
func (h *host) weigh() {
	for i := range h.banks {
		h.banks[i].free = h.banks[i].free[:0]
	}
	for i := range h.devices {
		d := &h.devices[i]
		if d.bank < 0 || !d.healthy || d.whole > 0 {
			continue
		}
		b := &h.banks[d.bank]
		left := d.shareableMB
		if d.shares == 0 && (d.memoryMB == 0 || d.foreignMB <= d.nominalMB/10) {
			left = b.unit
		}
		if left > 0 {
			b.free = append(b.free, min(left, b.unit))
		}
	}
	for i := range h.banks {
		b := &h.banks[i]
		slices.SortFunc(b.free, func(x, y int64) int { return cmp.Compare(y, x) })
		b.lost = b.table.lost(h.freeCores(0), b.free, b.unit)
	}
}

// freeCores is what is left beside so many; what is not known is plenty.
func (h *host) freeCores(take int64) int64 {
	if !h.cores.known {
		return math.MaxInt64
	}
	return h.cores.free - take
}

// suits reports whether the node could serve the profile if it were empty, as
// far as that does not change with load.
func (q *query) suits(h *host) bool {
	if !q.admitted(h) {
		return false
	}
	fit := 0
	for i := range h.devices {
		if q.suitsDevice(&h.devices[i]) {
			fit++
		}
	}
	return fit >= q.need.devices
}

// admitted reports whether the node has what the profile asks for by name,
// beside its devices.
func (q *query) admitted(h *host) bool {
	n := h.node
	if h.pool != q.profile.Pool {
		return false
	}
	for _, key := range q.labels {
		if n.Label(key) != q.profile.Labels[key] {
			return false
		}
	}
	has, said := n.Facts.HasEngine(string(q.profile.Engine), q.profile.Build)
	return has || !said
}

func (q *query) suitsDevice(d *device) bool {
	return (q.need.class == "" || d.of.Class == q.need.class) &&
		(!d.of.MIG() || q.need.devices <= 1 && !q.need.shared) &&
		(!d.capKnown || int(d.capability) >= q.need.capability) &&
		(d.memoryMB == 0 || d.nominalMB >= q.need.deviceMB)
}

// size is what a replica takes, in devices of so many MiB each. One without
// devices counts as a tenth of one.
func (q *query) size(unit int64) float64 {
	size := float64(q.need.devices)
	if q.need.shared {
		size = min(1, float64(q.need.deviceMB)/float64(unit))
	}
	return max(0.1, size)
}
