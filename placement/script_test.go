package placement_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
	"llmgw.io/llmgw/placement"
)

// TestScript runs the scripts under testdata. Their commands:
//
//	fleet                     the input is a fleet as inventorytest reads it
//	model name=… key=value…   a model of one profile; see scriptProfile
//	model                     the input is a definition as JSON
//	profile name=… …          one more profile of the model
//	choose [profiles=(a,b)] [avoid=(node,…)] [apart=(model,…)] [take=replica]
//	headroom [limit=n]
//	verify                    does the last choice still hold
//	preempt for=critical …    who would make room; see preempt_test.go
//
// Every trace is held against its law: looked at = chosen + the reasons.
func TestScript(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.Contains(path, "topologies") {
			return // maps of machines, which are no scripts
		}
		s := &script{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "fleet":
				return s.setFleet(d)
			case "model":
				return s.setModel(t, d)
			case "profile":
				s.model.Profiles = append(s.model.Profiles, scriptProfile(t, d))
				return ""
			case "choose":
				return s.choose(t, d)
			case "headroom":
				return s.headroom(t, d)
			case "verify":
				return s.verify()
			case "preempt":
				return s.preempt(t, d)
			}
			d.Fatalf(t, "no such command: %s", d.Cmd)
			return ""
		})
	})
}

type script struct {
	fleet *inventory.Snapshot
	model catalog.Model
	last  placement.Candidate
}

func (s *script) setFleet(d *datadriven.TestData) string {
	fleet, err := inventorytest.Parse(d.Input)
	if err != nil {
		return err.Error() + "\n"
	}
	s.fleet = fleet
	devices := 0
	for _, n := range fleet.Nodes() {
		devices += len(n.Facts.Devices)
	}
	return fmt.Sprintf("%d nodes, %d devices\n", len(fleet.Nodes()), devices)
}

func (s *script) setModel(t *testing.T, d *datadriven.TestData) string {
	s.model = catalog.Model{}
	if d.Input != "" {
		if err := json.Unmarshal([]byte(d.Input), &s.model); err != nil {
			d.Fatalf(t, "the definition: %v", err)
		}
		return ""
	}
	d.ScanArgs(t, "name", (*string)(&s.model.Name))
	d.MaybeScanArgs(t, "source", &s.model.Source)
	for _, v := range values(d, "files") {
		path, gb, _ := strings.Cut(v, ":")
		s.model.Files = append(s.model.Files, catalog.File{Path: path, Bytes: int64(atoi(t, gb)) << 30})
	}
	p := scriptProfile(t, d)
	p.Name = "main"
	s.model.Profiles = []catalog.Profile{p}
	return ""
}

// scriptProfile reads engine, build, gpu, class, vram, shared, cc, mem, cpu,
// disk, shards, fabric, nvlink, pool, label, spread=level[:max] as a profile.
func scriptProfile(t *testing.T, d *datadriven.TestData) catalog.Profile {
	p := catalog.Profile{Engine: catalog.EngineVLLM}
	gpu := catalog.GPU{}
	for _, a := range d.CmdArgs {
		v := strings.Join(a.Vals, ",")
		switch a.Key {
		case "name":
			p.Name = v
		case "engine":
			p.Engine = catalog.Engine(v)
		case "build":
			p.Build = v
		case "gpu":
			gpu.Count = atoi(t, v)
		case "class":
			gpu.Class = inventory.Class(v)
		case "vram":
			gpu.MemoryGB = atoi(t, v)
		case "shared":
			gpu.Shared = true
		case "cc":
			gpu.ComputeCapability = v
		case "mem":
			p.MemoryGB = atoi(t, v)
		case "cpu":
			p.CPUCores = atoi(t, v)
		case "disk":
			p.DiskGB = atoi(t, v)
		case "shards":
			p.Shards = atoi(t, v)
		case "fabric":
			p.Fabric = v
		case "nvlink":
			p.NVLinkDomain = true
		case "pool":
			p.Pool = v
		case "label":
			k, val, _ := strings.Cut(v, ":")
			p.Labels = map[string]string{k: val}
		case "spread":
			level, most, bounded := strings.Cut(v, ":")
			p.Spread = &catalog.Spread{Level: inventory.Level(level)}
			if bounded {
				p.Spread.MaxPerDomain = atoi(t, most)
			}
		case "source", "files":
		default:
			d.Fatalf(t, "a profile has no %s", a.Key)
		}
	}
	if gpu.Count > 0 {
		p.GPU = &gpu
	}
	return p
}

func (s *script) request(d *datadriven.TestData) placement.Request {
	req := placement.Request{Model: &s.model, Profiles: values(d, "profiles")}
	for _, name := range values(d, "apart") {
		req.Apart = append(req.Apart, catalog.Name(name))
	}
	for _, id := range values(d, "avoid") {
		if req.Avoid == nil {
			req.Avoid = map[inventory.NodeID]string{}
		}
		req.Avoid[inventory.NodeID(id)] = "a start failed here"
	}
	return req
}

func (s *script) choose(t *testing.T, d *datadriven.TestData) string {
	got, trace := placement.Placer{}.Choose(s.fleet, s.request(d), nil)
	var b strings.Builder
	if !got.Placed {
		b.WriteString("not placed\n")
	} else {
		s.last = got.Candidate
		fmt.Fprintln(&b, candidateText(got.Candidate))
	}
	b.WriteString(traceText(t, trace))
	var replica string
	if d.MaybeScanArgs(t, "take", &replica); replica != "" && got.Placed {
		s.fleet = s.fleet.With(got.Candidate.Allocations(string(s.model.Name), replica)...)
	}
	return b.String()
}

func (s *script) headroom(t *testing.T, d *datadriven.TestData) string {
	limit := 16
	d.MaybeScanArgs(t, "limit", &limit)
	before := inventorytest.Format(s.fleet)
	h := placement.Placer{}.Headroom(s.fleet, s.request(d), limit)
	if after := inventorytest.Format(s.fleet); after != before {
		t.Errorf("headroom changed the fleet to\n%s", after)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d more", len(h.Spots))
	if h.Limited {
		b.WriteString(", and perhaps more than that")
	}
	b.WriteByte('\n')
	for _, c := range h.Spots {
		fmt.Fprintln(&b, candidateText(c))
	}
	b.WriteString(traceText(t, h.Blocked))
	return b.String()
}

func (s *script) verify() string {
	reason, text := placement.Placer{}.Verify(s.fleet, placement.Request{Model: &s.model}, s.last)
	if reason == "" {
		return "holds\n"
	}
	return fmt.Sprintf("%s: %s\n", reason, text)
}

// candidateText reads like "tp8: a1 [0-7] 64 GiB 8 cores".
func candidateText(c placement.Candidate) string {
	var out []string
	for _, s := range c.Spots {
		w := string(s.Node)
		if len(s.Devices) > 0 {
			w += " " + devicesText(s.Devices)
		}
		if s.MemoryMB > 0 {
			w += fmt.Sprintf(" %d MiB", s.MemoryMB)
		}
		if s.Cores > 0 {
			w += fmt.Sprintf(" %d cores", s.Cores)
		}
		if s.DiskMB > 0 {
			w += fmt.Sprintf(" %d MiB of disk", s.DiskMB)
		}
		out = append(out, w)
	}
	return c.Profile + ": " + strings.Join(out, "; ")
}

func devicesText(shares []inventory.DeviceShare) string {
	var out []string
	for _, s := range shares {
		w := strconv.Itoa(s.Index)
		if s.MemoryMB > 0 {
			w += fmt.Sprintf("@%d", s.MemoryMB)
		}
		out = append(out, w)
	}
	return "[" + strings.Join(out, " ") + "]"
}

func traceText(t *testing.T, trace placement.Trace) string {
	t.Helper()
	checkLaw(t, trace)
	var b strings.Builder
	for _, p := range trace.Profiles {
		fmt.Fprintf(&b, "%s: %s\n", p.Profile, p)
		for _, l := range p.Lines {
			fmt.Fprintf(&b, "  %s %s: %s\n", l.Node, l.Reason, l.Text)
		}
		if p.Omitted > 0 {
			fmt.Fprintf(&b, "  and %d more\n", p.Omitted)
		}
		for _, s := range p.Best {
			fmt.Fprintf(&b, "  best %s %.1f: fragment %.1f, balance %.1f, leftover %.1f, load %.1f, spread %.1f\n", s.Node, s.Total,
				s.Parts["fragment"], s.Parts["balance"], s.Parts["leftover"], s.Parts["load"], s.Parts["spread"])
		}
	}
	return b.String()
}

// checkLaw holds a trace against what every trace must satisfy.
func checkLaw(t *testing.T, trace placement.Trace) {
	t.Helper()
	for _, p := range trace.Profiles {
		sum, refused := p.Chosen, 0
		for r, n := range p.Counts {
			sum += n
			if r != placement.Outscored {
				refused += n
			}
			if !r.Valid() {
				t.Errorf("reason %q is not of the list", r)
			}
		}
		if sum != p.Looked {
			t.Errorf("profile %s: looked at %d, but chosen and reasons sum to %d", p.Profile, p.Looked, sum)
		}
		if len(p.Lines)+p.Omitted != refused || len(p.Lines) > placement.MaxLines || len(p.Best) > placement.MaxBest {
			t.Errorf("profile %s: %d lines and %d omitted for %d refusals, %d best", p.Profile, len(p.Lines), p.Omitted, refused, len(p.Best))
		}
		if !slices.IsSortedFunc(p.Lines, func(a, b placement.Rejection) int { return strings.Compare(string(a.Node), string(b.Node)) }) {
			t.Errorf("profile %s: the lines are not in the order of nodes: %+v", p.Profile, p.Lines)
		}
		for _, l := range p.Lines {
			if l.Text == "" {
				t.Errorf("%s is refused for %s without a sentence", l.Node, l.Reason)
			}
		}
	}
}

func values(d *datadriven.TestData, key string) []string {
	for _, a := range d.CmdArgs {
		if a.Key == key {
			return a.Vals
		}
	}
	return nil
}

func atoi(t *testing.T, v string) int {
	t.Helper()
	n, err := strconv.Atoi(v)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
