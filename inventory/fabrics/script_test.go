package fabrics_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/fabrics"
)

var begun = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// TestScripts runs the fleets of testdata. A line is a port: its node, its
// adapter with /2 for another port, and words:
//
//	sm=aa  roce=10.0.0.0/24  name=ib0  gbps=400  mtu=4096  smlid=1  guid=aa
//	sms=aa:master:5+bb:standby:3   the managers, with their priority
//	error=timeout                  the query of the manager failed
//	state=INIT  phys=LinkUp  eth   what the link does; ACTIVE and LinkUp unless said
//	tx=1000 rx=2000 errs=symbol_error:3   counters, read at this look
//	unreachable  lost              of the node
//
// look at=TIME watches and reports; what is remembered goes on through a file
// until forget. report reports without a memory. find id= finds a network, live
// node= hca= says the traffic.
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var m fabrics.Memory
		var last fabrics.Report
		at := begun
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "forget":
				m, at = fabrics.Memory{}, begun
				return ""
			case "find":
				var id string
				d.ScanArgs(t, "id", &id)
				p, ok := last.Find(id)
				if !ok {
					return "there is none\n"
				}
				return p.Key + "\n"
			case "live":
				var p fabrics.Port
				var node string
				p.Port = 1
				d.ScanArgs(t, "node", &node)
				d.ScanArgs(t, "hca", &p.HCA)
				p.Node = inventory.NodeID(node)
				tx, rx := m.Traffic(p, at)
				return fmt.Sprintf("tx %.0f b/s, rx %.0f b/s\n", tx, rx)
			case "look":
				var span string
				d.ScanArgs(t, "at", &span)
				after, err := time.ParseDuration(span)
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				at = begun.Add(after)
				nodes := parse(t, d, at)
				m = watch(t, m, nodes, at)
				last = fabrics.Analyze(nodes, m, at)
			case "report":
				nodes := parse(t, d, begun)
				last = fabrics.Analyze(nodes, fabrics.Memory{}, begun)
				agree(t, last, nodes)
			}
			return show(last)
		})
	})
}

// agree holds that what nodes say is one InfiniBand network is one to placement,
// and nothing else is.
func agree(t *testing.T, r fabrics.Report, nodes []*inventory.Node) {
	t.Helper()
	for _, p := range r.Physical {
		if !strings.HasPrefix(p.Key, inventory.KeySM) {
			continue
		}
		var on []inventory.NodeID
		for _, n := range nodes {
			is := func(f inventory.Fabric) bool { return f.Key == p.Key }
			if n.Hearing != inventory.Lost && slices.ContainsFunc(n.Fabrics(), is) {
				on = append(on, n.ID)
			}
		}
		slices.Sort(on)
		if !slices.Equal(on, p.Nodes) {
			t.Errorf("%s has %v by the report, and %v by placement", p.Key, p.Nodes, on)
		}
	}
}

// watch watches, and holds that neither the order of nodes nor the order of
// their ports matters, and that what was remembered is left as it was.
func watch(t *testing.T, m fabrics.Memory, nodes []*inventory.Node, at time.Time) fabrics.Memory {
	t.Helper()
	before := fmt.Sprint(m)
	next := fabrics.Watch(m, nodes, at)
	if fmt.Sprint(m) != before {
		t.Errorf("a look changed what was remembered before it")
	}
	mixed := slices.Clone(nodes)
	r := rand.New(rand.NewPCG(1, 2))
	r.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
	if again := fabrics.Watch(m, mixed, at); !reflect.DeepEqual(fabrics.Analyze(nodes, next, at), fabrics.Analyze(mixed, again, at)) {
		t.Errorf("the order of nodes changes the report:\n%s\n%s", show(fabrics.Analyze(nodes, next, at)), show(fabrics.Analyze(mixed, again, at)))
	}
	return next
}

func parse(t *testing.T, d *datadriven.TestData, at time.Time) []*inventory.Node {
	t.Helper()
	byID := map[inventory.NodeID]*inventory.Node{}
	var nodes []*inventory.Node
	for line := range strings.Lines(d.Input) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		id := inventory.NodeID(words[0])
		n := byID[id]
		if n == nil {
			n = &inventory.Node{ID: id, Hearing: inventory.Heard}
			byID[id] = n
			nodes = append(nodes, n)
		}
		hca, port, _ := strings.Cut(words[1], "/")
		p := inventory.Port{HCA: hca, Port: 1, State: "ACTIVE", PhysState: "LinkUp", LinkLayer: "InfiniBand"}
		if port != "" {
			p.Port = number(t, port)
		}
		for _, w := range words[2:] {
			key, value, _ := strings.Cut(w, "=")
			word(t, n, &p, key, value, at)
		}
		p.Active = p.State == "ACTIVE" && p.PhysState == "LinkUp"
		n.Facts.Ports = append(n.Facts.Ports, p)
	}
	return nodes
}

func word(t *testing.T, n *inventory.Node, p *inventory.Port, key, value string, at time.Time) {
	t.Helper()
	switch key {
	case "sm":
		p.Physical = inventory.KeySM + value
	case "roce":
		p.Physical, p.LinkLayer = inventory.KeyRoCE+value, "Ethernet"
	case "name":
		p.Fabric = value
	case "gbps":
		p.RateGbps = number(t, value)
	case "mtu":
		p.MTU = number(t, value)
	case "smlid":
		p.SMLID = number(t, value)
	case "guid":
		p.PortGUID = value
	case "sms":
		for part := range strings.SplitSeq(value, "+") {
			f := strings.Split(part, ":")
			sm := inventory.SubnetManager{GUID: f[0], State: f[1], Priority: number(t, f[2])}
			p.SMs = append(p.SMs, sm)
			if sm.State == "master" {
				p.SM = &sm
			}
		}
	case "error":
		p.SMError = value
	case "state":
		p.State = value
	case "phys":
		p.PhysState = value
	case "eth":
		p.LinkLayer = "Ethernet"
	case "tx", "rx", "errs":
		count(t, n, p, key, value, at)
	case "unreachable", "lost":
		n.Hearing = inventory.Hearing(key)
	default:
		t.Fatalf("%q means nothing here", key)
	}
}

func count(t *testing.T, n *inventory.Node, p *inventory.Port, key, value string, at time.Time) {
	t.Helper()
	if n.Sample == nil {
		n.Sample, n.SampleAt = &inventory.Sample{}, at
	}
	i := slices.IndexFunc(n.Sample.Ports, func(c inventory.PortCounters) bool { return c.HCA == p.HCA && c.Port == p.Port })
	if i < 0 {
		i = len(n.Sample.Ports)
		n.Sample.Ports = append(n.Sample.Ports, inventory.PortCounters{HCA: p.HCA, Port: p.Port})
	}
	c := &n.Sample.Ports[i]
	switch bytes := int64(0); key {
	case "errs":
		c.Errors = map[string]int64{}
		for part := range strings.SplitSeq(value, "+") {
			name, v, _ := strings.Cut(part, ":")
			c.Errors[name] = int64(number(t, v))
		}
	default:
		bytes = int64(number(t, value))
		if key == "tx" {
			c.TxBytes = &bytes
		} else {
			c.RxBytes = &bytes
		}
	}
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func show(r fabrics.Report) string {
	var b strings.Builder
	for _, p := range r.Physical {
		fmt.Fprintf(&b, "%s %q", p.ID(), p.Label)
		if len(p.Declared) > 0 {
			fmt.Fprintf(&b, " named %s", strings.Join(p.Declared, ", "))
		}
		fmt.Fprintf(&b, ": %d ports of %v", p.Ports, p.Nodes)
		if p.SM != nil {
			fmt.Fprintf(&b, ", managed by %s", p.SM.GUID)
			if p.SM.Node != "" {
				fmt.Fprintf(&b, " on %s", p.SM.Node)
			}
		}
		for _, m := range p.SMs {
			if m.State != "master" {
				fmt.Fprintf(&b, ", %s stands by", m.GUID)
			}
		}
		if p.SMError != "" {
			fmt.Fprintf(&b, ", not asked: %s", p.SMError)
		}
		b.WriteByte('\n')
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "%s is %s", p.Fabric, p.Kind)
		if !p.Since.IsZero() {
			fmt.Fprintf(&b, " since %s", p.Since.Sub(begun))
		}
		fmt.Fprintf(&b, " %v: %s\n", p.Nodes, p.Text)
	}
	for _, c := range r.Changes {
		fmt.Fprintf(&b, "%s: from %s to %s at %s\n", c.Key, c.From, c.To, c.At.Sub(begun))
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}

// What is remembered does not grow with what happens.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	var m fabrics.Memory
	keys := map[string]bool{}
	for i := range 500 {
		at := begun.Add(time.Duration(i) * time.Minute)
		guid := strconv.Itoa(i)
		n := &inventory.Node{ID: "a1", Hearing: inventory.Heard, Facts: inventory.Facts{Ports: []inventory.Port{
			{HCA: "mlx5_0", Port: 1, Active: true, Physical: inventory.KeySM + guid, SMs: []inventory.SubnetManager{{GUID: guid}}},
		}}}
		m = fabrics.Watch(m, []*inventory.Node{n}, at)
		for _, c := range m.Changes() {
			keys[c.Key] = true
		}
	}
	if got := len(m.Changes()); got != 100 || m.Changes()[0].To != "499" {
		t.Errorf("want the newest 100 changes, got %d, from %v on", got, m.Changes()[:1])
	}
	if text := fmt.Sprint(m); len(text) > 30_000 {
		t.Errorf("want little remembered of 500 managers, got %d letters", len(text))
	}
	if m = fabrics.Watch(m, nil, begun); len(slices.Collect(maps.Keys(keys))) == 0 || m.Key("sm:499") != "sm:499" {
		t.Error("want a network that is gone forgotten")
	}
}
