package gpu

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"llmgw.io/llmgw/inventory"
)

// View is all that devices are made from.
type View struct {
	// Cards are all that were ever seen, and Bus those that the kernel's files
	// have.
	Cards []Card
	Bus   []BusCard
	// Problem and Warnings are of a card by its key; best is the most NVLinks that
	// a card of its name has here.
	Problem  func(key string) string
	Warnings func(key string, best int) []string
	// Stale is why nothing new is known of any card, as a sentence. Empty: it is.
	Stale string
	// Place is where a card is, by its address.
	Place func(pci string) Place
	// HostMB is the machine's memory, for cards that have none of their own.
	HostMB int64
	// Foreign says that a process is known to be none of our engines'. Nil: nobody
	// knows, and no memory is called foreign.
	Foreign func(pid int) bool
	// Told is what foreign memory was told last, by index, so that small moves are
	// no news.
	Told map[int]int64
}

// Place is where one card is on the machine.
type Place struct {
	// NUMA is its memory node; -1 when unknown.
	NUMA int
	// Root, NIC and Path are as [inventory.Device] has them. Empty: unknown.
	Root, NIC, Path string
}

// slot is one place in the order of a machine's cards.
type slot struct {
	card Card
	// found says that the driver has, or had, the card; else only the bus has it.
	found bool
	bus   BusCard
}

// slots are all cards of a machine in the order of their addresses, so that a
// card that is lost leaves the others' numbers alone. It is the driver's own
// order while all are there.
func (v *View) slots() []slot {
	var out []slot
	for _, c := range v.Cards {
		out = append(out, slot{card: c, found: true})
	}
	for _, b := range v.Bus {
		if b.Listed && !slices.ContainsFunc(out, func(s slot) bool { return s.card.PCI == b.PCI }) {
			out = append(out, slot{card: Card{PCI: b.PCI, UUID: b.UUID, Name: b.Model, Index: -1}, bus: b})
		}
	}
	slices.SortStableFunc(out, func(a, b slot) int {
		if a.card.PCI == "" || b.card.PCI == "" {
			return a.card.Index - b.card.Index
		}
		return compareAddress(a.card.PCI, b.card.PCI)
	})
	return out
}

// compareAddress orders addresses as numbers: domains may be longer than four
// digits.
func compareAddress(a, b string) int {
	if n := len(a) - len(b); n != 0 {
		return n
	}
	return strings.Compare(a, b)
}

// Number gives each card's number by its key, as people and labels have it.
func (v *View) Number() map[string]int {
	out := map[string]int{}
	for i, s := range v.slots() {
		out[s.card.key()] = i
	}
	return out
}

// Devices are what can be given out, and what must not be, each with its reason;
// and warnings about cards.
func (v *View) Devices() ([]inventory.Device, []string) {
	slots := v.slots()
	devices := []inventory.Device{}
	var warnings []string
	for number, s := range slots {
		key := s.card.key()
		base := v.base(number, s, slots)
		devices = append(devices, v.parts(base, s)...)
		for _, w := range v.Warnings(key, bestLinks(slots, s.card.Name)) {
			warnings = append(warnings, fmt.Sprintf("GPU %d: %s", number, w))
		}
		if m := s.card.MIG; m != nil && m.Pending {
			warnings = append(warnings, fmt.Sprintf("GPU %d: a change of its MIG mode waits for a reset", number))
		}
	}
	v.link(devices, slots)
	return devices, warnings
}

// base is what all devices of a card have in common.
func (v *View) base(number int, s slot, slots []slot) inventory.Device {
	c := s.card
	at := v.Place(c.PCI)
	memory := c.MemoryMB
	if c.HostMemory {
		memory = v.HostMB
	}
	d := inventory.Device{
		Index: number, Card: number, UUID: c.UUID, Name: c.Name, Label: fmt.Sprint(number), MemoryMB: memory,
		ComputeCapability: c.Capability, NUMA: at.NUMA, PCI: c.PCI, PCIRoot: at.Root, NearestNIC: at.NIC, NICPath: at.Path,
		FabricState: c.Fabric.state(), Domain: c.Fabric.domain(), Bandwidth: c.Fabric.bandwidth(),
		Problem: v.Problem(c.key()),
	}
	if d.Problem == "" {
		d.Problem = v.Stale
	}
	sized := memory
	if !s.found {
		d.Problem = "The driver does not list it, and the bus does. Look for its address in the kernel's log, and restart the machine."
		if s.bus.Dead {
			d.Problem = "It fell off the bus: it answers to nothing. Restart the machine; when that does not help, look at the card's seat and power."
		}
	}
	for _, o := range slots {
		// A card that says nothing more is most likely like those of its name.
		if sized == 0 && o.card.Name == c.Name {
			sized = o.card.MemoryMB
		}
	}
	d.Class = ClassOf(c.Name, sized)
	return d
}

// parts are the devices of one card: itself, or its instances.
func (v *View) parts(base inventory.Device, s slot) []inventory.Device {
	mig := s.card.MIG
	if mig == nil || !mig.On {
		base.ForeignMB = v.foreign(base.Index, s.card.Process)
		return []inventory.Device{base}
	}
	if len(mig.Instances) == 0 {
		if base.Problem == "" {
			base.Problem = "It is partitioned (MIG), and has no instances. Make some, or switch MIG off."
		}
		return []inventory.Device{base}
	}
	var out []inventory.Device
	for _, in := range mig.Instances {
		d := base
		d.Index = instanceIndex(base.Card, in.Index)
		d.Label = fmt.Sprintf("%d/mig%d", base.Card, in.Index)
		d.UUID, d.MemoryMB = in.UUID, in.MemoryMB
		d.MIGProfile, d.Class = in.Profile, inventory.Class(in.Profile)
		if in.Profile == "" {
			// Not to be taken for a whole card.
			d.MIGProfile, d.Class = "unknown", "mig"
		}
		// Instances reach nobody over NVLink or a fabric.
		d.FabricState, d.Domain, d.Bandwidth = "", "", ""
		d.ForeignMB = v.foreign(d.Index, in.Process)
		out = append(out, d)
	}
	return out
}

// foreignStep is how far foreign memory moves before it is told anew, in MiB.
const foreignStep = 256

// foreign is the memory that others' processes have of a device, in steps.
func (v *View) foreign(index int, list []Process) int64 {
	if v.Foreign == nil {
		return 0
	}
	var mb int64
	for _, p := range list {
		if v.Foreign(p.PID) {
			mb += p.UsedMB
		}
	}
	up := (mb + foreignStep - 1) / foreignStep * foreignStep
	if was, ok := v.Told[index]; ok && mb > was-2*foreignStep && mb <= was && (mb > 0) == (was > 0) {
		return was
	}
	return up
}

// link fills in whom each whole card reaches over NVLink.
func (v *View) link(devices []inventory.Device, slots []slot) {
	numbers := map[int]int{} // the driver's to ours
	for n, s := range slots {
		if s.found && s.card.Lost == "" {
			numbers[s.card.Index] = n
		}
	}
	for i := range devices {
		d := &devices[i]
		if d.MIG() || d.Card >= len(slots) {
			continue
		}
		peers := map[int]bool{}
		for _, l := range slots[d.Card].card.Linked {
			n, ok := numbers[l]
			if m := slots[max(n, 0)].card.MIG; ok && n != d.Card && (m == nil || !m.On) {
				peers[n] = true
			}
		}
		if len(peers) > 0 {
			d.NVLinkPeers = slices.Sorted(maps.Keys(peers))
		}
	}
}

// bestLinks is the most NVLinks that work on one card of that name.
func bestLinks(slots []slot, name string) int {
	most := 0
	for _, s := range slots {
		if s.card.Name == name && s.card.LinksUp != nil {
			most = max(most, *s.card.LinksUp)
		}
	}
	return most
}

// instanceIndex is the device's number of an instance: no card's, and no other
// instance's.
func instanceIndex(card, instance int) int { return (card+1)*100 + instance }
