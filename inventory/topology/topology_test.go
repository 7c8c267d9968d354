package topology_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/inventory/topology"
)

// TestScripts reads samples and shows what was understood. "parse" may be told
// that lines end in CRLF, or to cut that many bytes off the end of the text.
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "parse" {
				d.Fatalf(t, "unknown command %q", d.Cmd)
			}
			text := d.Input
			if text != "" {
				text += "\n" // the script's form takes the last one away
			}
			cut := 0
			d.MaybeScanArgs(t, "cut", &cut)
			text = text[:len(text)-cut]
			if d.HasArg("crlf") {
				text = strings.ReplaceAll(text, "\n", "\r\n")
			}
			m, err := topology.Parse(text)
			if err != nil {
				return err.Error() + "\n"
			}
			return show(m)
		})
	})
}

func show(m topology.Map) string {
	var b strings.Builder
	flags := func(all map[string]bool, order ...string) {
		for _, name := range order {
			if all[name] {
				fmt.Fprint(&b, " ", name)
			}
		}
		fmt.Fprintln(&b)
	}
	if m.From != "" {
		fmt.Fprintln(&b, "from", m.From)
	}
	for _, s := range m.Switches {
		fmt.Fprintf(&b, "switch %s %q ports %d lid %d", s.GUID, s.Name, s.Ports, s.LID)
		flags(map[string]bool{"silent": s.Silent}, "silent")
	}
	for _, h := range m.Hosts {
		fmt.Fprintf(&b, "host %s %q board %q ports %d", h.GUID, h.Name, h.Board, h.Ports)
		flags(map[string]bool{"silent": h.Silent, "router": h.Router}, "router", "silent")
	}
	end := func(e topology.End) string {
		s := fmt.Sprintf("%s[%d] lid %d", e.GUID, e.Port, e.LID)
		if e.PortGUID != "" {
			s += " port " + e.PortGUID
		}
		return s
	}
	for _, l := range m.Links {
		fmt.Fprintf(&b, "link %s -- %s: %d x %q = %d", end(l.A), end(l.B), l.Width, l.Speed, l.Gbps)
		flags(map[string]bool{"one-sided": l.OneSided}, "one-sided")
	}
	if m.Aggregators > 0 {
		fmt.Fprintln(&b, "aggregators", m.Aggregators)
	}
	if m.Unknown > 0 {
		fmt.Fprintf(&b, "%d unknown, the first is line %d\n", m.Unknown, m.FirstUnknown)
	}
	if gap := m.Gap(); gap != "" {
		fmt.Fprintln(&b, gap)
	}
	return b.String()
}

// fabric writes the map of leaves with adapters, and a spine, with speeds that
// the tool prints.
func fabric(leaves, hosts int) string {
	var b strings.Builder
	b.WriteString("#\n# Topology file: generated on Mon Nov  2 03:04:05 2026\n#\n# Initiated from node 00000000000a0000 port 00000000000a0000\n")
	leaf := func(l int) string { return fmt.Sprintf("%016x", 0x5000000+l) }
	host := func(l, h int) string { return fmt.Sprintf("%016x", 0xa0000+l*1000+h) }
	for l := range leaves {
		fmt.Fprintf(&b, "\nvendid=0x2c9\ndevid=0xd2f2\nswitchguid=0x%x(%x)\nSwitch\t64 \"S-%s\"\t\t# \"leaf %d\" enhanced port 0 lid %d lmc 0\n", 0x5000000+l, 0x5000000+l, leaf(l), l, l+1)
		for h := range hosts {
			fmt.Fprintf(&b, "[%d]\t\"H-%s\"[1](%x) \t\t# \"node-%d mlx5_%d\" lid %d 4xNDR\n", h+1, host(l, h), 0xa0000+l*1000+h, l, h, 1000+l*100+h)
		}
		fmt.Fprintf(&b, "[63]\t\"S-%016x\"[%d]\t\t# \"spine\" lid 999 4xNDR\n", 0x6000000, l+1)
	}
	fmt.Fprintf(&b, "\nvendid=0x2c9\nswitchguid=0x6000000(6000000)\nSwitch\t64 \"S-%016x\"\t\t# \"spine\" enhanced port 0 lid 999 lmc 0\n", 0x6000000)
	for l := range leaves {
		fmt.Fprintf(&b, "[%d]\t\"S-%s\"[63]\t\t# \"leaf %d\" lid %d 4xNDR\n", l+1, leaf(l), l, l+1)
	}
	for l := range leaves {
		for h := range hosts {
			fmt.Fprintf(&b, "\nvendid=0x2c9\ndevid=0x1021\nsysimgguid=0x%s\ncaguid=0x%s\nCa\t1 \"H-%s\"\t\t# \"node-%d mlx5_%d\"\n", host(l, h), host(l, h), host(l, h), l, h)
			fmt.Fprintf(&b, "[1](%x) \t\"S-%s\"[%d]\t\t# lid %d lmc 0 \"leaf %d\" lid %d 4xNDR\n", 0xa0000+l*1000+h, leaf(l), h+1, 1000+l*100+h, l, l+1)
		}
	}
	return b.String()
}

// A walk prints nodes in the order in which it meets them, and ports in none:
// any order of the blocks is the same map.
func TestOrderIsNoMatter(t *testing.T) {
	t.Parallel()
	text := fabric(3, 4)
	want, err := topology.Parse(text)
	if err != nil || len(want.Switches) != 4 || len(want.Hosts) != 12 || len(want.Links) != 15 || want.Gap() != "" {
		t.Fatalf("%d switches, %d hosts, %d links, %q, %v", len(want.Switches), len(want.Hosts), len(want.Links), want.Gap(), err)
	}
	blocks := strings.Split(strings.TrimSuffix(text, "\n"), "\n\n")
	var turned strings.Builder
	for i := len(blocks) - 1; i >= 0; i-- {
		turned.WriteString(blocks[i] + "\n\n")
	}
	got, err := topology.Parse(turned.String())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-as printed +turned round):\n%s", d)
	}
}

// A text that is cut anywhere keeps what is whole in it, says that it is cut, and
// tells nothing that the whole text does not.
func TestCutAnywhere(t *testing.T) {
	t.Parallel()
	text := fabric(2, 2)
	whole, err := topology.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	links := map[[2]string]topology.Link{}
	key := func(l topology.Link) [2]string {
		return [2]string{fmt.Sprint(l.A.GUID, l.A.Port), fmt.Sprint(l.B.GUID, l.B.Port)}
	}
	for _, l := range whole.Links {
		links[key(l)] = l
	}
	for n := range len(text) {
		m, err := topology.Parse(text[:n])
		if err != nil {
			if !errors.Is(err, topology.ErrEmpty) && !errors.Is(err, topology.ErrNoMap) {
				t.Fatalf("cut at %d: %v", n, err)
			}
			continue
		}
		if !m.Truncated && text[n-1] != '\n' {
			t.Errorf("cut at %d: it is not said", n)
		}
		if m.Unknown > 0 {
			t.Errorf("cut at %d: %q", n, m.Gap())
		}
		for _, l := range m.Links {
			if w, ok := links[key(l)]; !ok || l.Gbps != w.Gbps {
				t.Errorf("cut at %d: there is no link %+v", n, l)
			}
		}
	}
}

// TestRealMap reads a map of a real fabric where somebody has one.
func TestRealMap(t *testing.T) {
	t.Parallel()
	path := os.Getenv("IBNET_SAMPLE")
	if path == "" {
		t.Skip("IBNET_SAMPLE names no file: set it to the output of ibnetdiscover on a real fabric")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := topology.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	silent := 0
	for _, h := range m.Hosts {
		if h.Silent {
			silent++
		}
	}
	t.Logf("%d switches, %d hosts (%d silent), %d aggregators, %d links; %q", len(m.Switches), len(m.Hosts), silent, m.Aggregators, len(m.Links), m.Gap())
	if cas := strings.Count(string(text), "\nCa\t"); len(m.Hosts)+m.Aggregators-silent != cas {
		t.Errorf("the text lists %d adapters", cas)
	}
	if m.Unknown > 0 || m.Truncated {
		t.Error(m.Gap())
	}
	for _, l := range m.Links {
		if l.Gbps == 0 {
			t.Errorf("the rate is not known: %+v", l)
		}
	}
}

// FuzzParse holds what is read of any text to what is promised of it.
func FuzzParse(f *testing.F) {
	f.Add(fabric(1, 1))
	f.Add("Ca\t1 \"H-00000000000a0001\"\t\t# \"a \"b\" c\"\r\n[1](a0001) \t\"S-00000000000b0001\"[1] (b0001)\t# lid 1 lmc 0 \"x\" lid 2 ??x???\n")
	f.Add("vendid=0x1\n[1]\n\"\n# Initiated from node z\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := topology.Parse(text)
		if err != nil {
			return
		}
		known := map[string]bool{}
		for _, s := range m.Switches {
			known[s.GUID] = true
		}
		for _, h := range m.Hosts {
			known[h.GUID] = true
		}
		for g := range known {
			if len(g) != 16 || strings.Trim(g, "0123456789abcdef") != "" {
				t.Errorf("the GUID %q", g)
			}
		}
		for _, l := range m.Links {
			if !known[l.A.GUID] || !known[l.B.GUID] {
				t.Errorf("a link of an unknown node: %+v", l)
			}
			if l.A.GUID > l.B.GUID || l.Gbps < 0 {
				t.Errorf("%+v", l)
			}
		}
		if (m.Unknown > 0) != (m.FirstUnknown > 0) || m.Unknown > strings.Count(text, "\n") {
			t.Errorf("%d lines, the first is %d", m.Unknown, m.FirstUnknown)
		}
		again, err := topology.Parse(text)
		if d := cmp.Diff(m, again); d != "" || err != nil {
			t.Errorf("it is read in two ways: %v\n%s", err, d)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	text := fabric(20, 30)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := topology.Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}
