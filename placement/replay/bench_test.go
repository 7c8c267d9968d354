package replay_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
	"llmgw.io/llmgw/placement/replay"
)

// largeFleet is nodes of eight devices with all that an agent says of them.
func largeFleet(nodes int) string {
	var b strings.Builder
	for i := range nodes {
		fmt.Fprintf(&b, "n%05d gpu=8xH100-80 mem=2048 cpu=192 disk=8000/20000 rack=r%03d pdu=p%02d row=w%02d fabric=ib0+ib1 engines=sim+vllm:cu129 nvlink=0-7 numa=0-3|4-7 nic=0-3:PIX|4-7:PHB\n", i, i/16, i/128, i/256)
	}
	return b.String()
}

// detail gives nodes what makes facts large: names of devices, files on disk.
func (s *sim) detail() {
	for i, id := range s.ids {
		f := s.registry.Snapshot().Node(id).Facts
		f.Hostname, f.MgmtAddr, f.OS, f.Kernel, f.Arch, f.AgentVersion = string(id), fmt.Sprintf("10.1.%d.%d", i/250, i%250), "Ubuntu 24.04", "6.8.0-45-generic", "amd64", "1.4.2"
		f.BootID = fmt.Sprintf("%08x-%016x", s.rng.Uint32(), s.rng.Uint64())
		for d := range f.Devices {
			f.Devices[d].Name = "NVIDIA H100 80GB HBM3"
			f.Devices[d].UUID = fmt.Sprintf("GPU-%016x%016x", s.rng.Uint64(), s.rng.Uint64())
			f.Devices[d].ComputeCapability = "9.0"
		}
		for k := range 6 {
			m := (i*7 + k*13) % 60
			f.Weights = append(f.Weights, inventory.Weight{Path: fmt.Sprintf("models/m%d/model-%d.safetensors", m, k), SHA256: strings.Repeat(fmt.Sprintf("%02x", m), 32), Bytes: 1 << 34})
		}
		s.registry.Apply(id, inventory.Report{Facts: &f}, s.now)
	}
}

// settle fills the fleet with replicas that are ready.
func (s *sim) settle(models, each int) {
	for i := range models {
		most := each + 2
		s.define(catalog.Model{
			Name: catalog.Name(fmt.Sprintf("m%03d", i)), Scaling: &catalog.Scaling{Min: each, Max: &most, IdleTimeout: catalog.Duration(10 * time.Minute)},
			Profiles: []catalog.Profile{{Name: "p", Engine: catalog.EngineSim, GPU: &catalog.GPU{Class: "H100-80", Count: 1 << (i % 4)}, MemoryGB: 32, CPUCores: 4}},
		})
	}
	for range 4 {
		s.pass()
		for i := range s.replicas {
			r := &s.replicas[i]
			for _, sh := range r.Shards {
				s.registry.Apply(sh.Spot.Node, inventory.Report{Shards: []inventory.ShardStatus{{
					ID: string(sh.ID), Model: string(r.Model), Profile: "p", State: inventory.ShardReady, Since: s.now, Address: "127.0.0.1:20001",
				}}}, s.now)
			}
		}
		s.now = s.now.Add(time.Second)
	}
}

func beaten(fleet *inventory.Snapshot, now time.Time) *inventory.Snapshot {
	st := fleet.State()
	nodes := make([]*inventory.Node, len(st.Nodes))
	for i, n := range st.Nodes {
		c := *n
		c.LastSeen = now
		nodes[i] = &c
	}
	st.Nodes = nodes
	return st.Snapshot()
}

// quiet is a pass of a settled fleet, and one like it after a beat of every node.
func quiet(b *testing.B, nodes, models, each int) (*sim, [2]replay.Pass) {
	b.Helper()
	s := newSim(b, 1, largeFleet(nodes))
	s.stable = true
	s.detail()
	s.settle(models, each)
	w := reconciler.World{Now: s.now, Catalog: s.index, Fleet: s.registry.Snapshot(), Replicas: s.replicas, Traffic: reconciler.Traffic{Since: s.now}}
	plan, after := s.by.Step(w, s.memory)
	p := replay.Pass{Epoch: 1, World: w, Memory: s.memory, Plan: plan, After: after, Outcome: replay.Kept}
	again := p
	again.World.Fleet = beaten(w.Fleet, s.now.Add(5*time.Second))
	again.Memory = after
	return s, [2]replay.Pass{p, again}
}

// BenchmarkQuietPass is what a pass costs beside the loop in which every node has
// beaten and nothing else has happened: 10,004 nodes, 20,000 replicas.
func BenchmarkQuietPass(b *testing.B) {
	s, p := quiet(b, 10004, 500, 40)
	var e replay.Encoder
	if _, ok, err := e.Encode(p[0]); err != nil || !ok {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, ok, err := e.Encode(p[(i+1)%2]); err != nil || ok {
			b.Fatalf("want nothing written, got %v, %v", ok, err)
		}
	}
	b.ReportMetric(float64(len(s.replicas)), "replicas")
}

// BenchmarkBase is what a base costs, of 1,000 and of 10,004 nodes.
func BenchmarkBase(b *testing.B) {
	for _, c := range []struct{ nodes, models, each int }{{1000, 200, 10}, {10004, 500, 40}} {
		b.Run(fmt.Sprint(c.nodes), func(b *testing.B) {
			_, p := quiet(b, c.nodes, c.models, c.each)
			var e replay.Encoder
			size := 0
			for b.Loop() {
				e.Reset()
				entry, _, err := e.Encode(p[0])
				if err != nil {
					b.Fatal(err)
				}
				size = len(entry.Data)
			}
			b.ReportMetric(float64(size)/(1<<20), "MB/base")
		})
	}
}

// BenchmarkDay is what a day of 1,000 nodes takes on the disk, from a virtual hour
// of it. Nodes beat every 5 seconds and measure every 15; a tenth of the models
// start on demand. In the hour 60 replicas are added or taken away, 20 fail, 40 on
// demand come and go, 30 nodes report other facts, 4 fall silent, and 4 models are
// edited. All of it is decided again, and nothing may differ.
func BenchmarkDay(b *testing.B) {
	for range b.N {
		s := newSim(b, 1, largeFleet(1000))
		s.stable = true
		s.detail()
		s.settle(200, 10)
		s.entries, s.encoder, s.placed = nil, replay.Encoder{}, 0
		const passes = 720
		from := s.now
		for i := range passes {
			s.hour(i)
			s.pass()
			s.now = from.Add(time.Duration(i+1) * 5 * time.Second)
			s.registry.Tick(s.now)
		}
		raw, packed, bases := 0, 0, 0
		var out bytes.Buffer
		z := gzip.NewWriter(&out)
		for _, e := range s.entries {
			if e.Base {
				bases++
				z.Close()
				packed += out.Len()
				out.Reset()
				z.Reset(&out)
			}
			raw += len(e.Data)
			z.Write(e.Data)
			z.Flush()
		}
		z.Close()
		packed += out.Len()
		began := time.Now()
		if r := replay.Run(data(s.entries), reconciler.Reconciler{}); r.Differing > 0 || r.Passes != len(s.entries) {
			b.Fatal(r)
		}
		day := float64(24*time.Hour) / float64(s.now.Sub(from))
		b.ReportMetric(time.Since(began).Seconds()*day, "s-replayed/day")
		b.ReportMetric(float64(packed)*day/1e6, "MB/day")
		b.ReportMetric(float64(raw)*day/1e6, "MB-raw/day")
		b.ReportMetric(float64(len(s.entries))*day, "entries/day")
		b.ReportMetric(float64(bases)*day, "bases/day")
		b.ReportMetric(float64(s.placed)*day, "placed/day")
		b.ReportMetric(float64(len(s.replicas)), "replicas")
	}
}

// hour is what happens in five seconds of an ordinary hour.
func (s *sim) hour(pass int) {
	name := catalog.Name(fmt.Sprintf("m%03d", s.rng.IntN(200)))
	node := s.ids[s.rng.IntN(len(s.ids))]
	often := func(anHour int) bool { return s.rng.IntN(720) < anHour }
	scale := func(by int) {
		m := s.models[name].Model
		c := *m.Scaling
		c.Min = max(1, c.Min+by)
		m.Scaling = &c
		s.define(m)
	}
	if often(60) {
		scale(2*s.rng.IntN(2) - 1)
	}
	if often(4) {
		m := s.models[name].Model
		m.Description = fmt.Sprint("edited ", pass)
		s.define(m)
	}
	if often(30) {
		f := s.registry.Snapshot().Node(node).Facts
		f.DiskFreeMB -= 1000
		s.registry.Apply(node, inventory.Report{Facts: &f}, s.now)
	}
	if often(4) {
		s.silent[node] = s.now.Add(30 * time.Second)
	}
	s.agents(pass, often)
	s.load(often)
}

// agents beat, measure, and do what they are told.
func (s *sim) agents(pass int, often func(int) bool) {
	fail := reconciler.ReplicaID("")
	if often(20) {
		fail = s.replicas[s.rng.IntN(len(s.replicas))].ID
	}
	byNode := map[inventory.NodeID][]inventory.ShardStatus{}
	for i := range s.replicas {
		r := &s.replicas[i]
		sh := &r.Shards[0]
		st, _ := s.registry.Snapshot().Node(sh.Spot.Node).Shard(string(sh.ID))
		next := st
		next.ID, next.Model, next.Profile = string(sh.ID), string(r.Model), "p"
		next.Use = &inventory.ShardUse{CPUCores: s.rng.Float64(), Running: s.rng.IntN(3)}
		switch {
		case st.State == inventory.ShardStopped || st.State == inventory.ShardFailed:
			continue
		case r.Phase == reconciler.Stop:
			next.State = inventory.ShardStopped
		case r.ID == fail:
			next.State, next.Error, next.Cause = inventory.ShardFailed, "The engine exited with 1.", "exited"
		case st.State == "":
			next.State = inventory.ShardFetching
		case st.State == inventory.ShardFetching && s.rng.IntN(6) > 0:
			next.Fetch = &inventory.Fetch{BytesDone: s.rng.Int64N(1 << 34), BytesTotal: 1 << 34}
		case st.State == inventory.ShardFetching:
			next.State, next.Fetch = inventory.ShardStarting, nil
		case st.State == inventory.ShardStarting && s.rng.IntN(6) == 0:
			next.State, next.Address = inventory.ShardReady, "127.0.0.1:20001"
		}
		if next.State != st.State {
			next.Since = s.now
		}
		byNode[sh.Spot.Node] = append(byNode[sh.Spot.Node], next)
	}
	for i, id := range s.ids {
		if s.now.Before(s.silent[id]) {
			continue
		}
		rep := inventory.Report{At: s.now.Add(time.Duration(s.rng.IntN(50)) * time.Millisecond), Shards: byNode[id]}
		if (pass+i)%3 == 0 {
			rep.Sample = &inventory.Sample{CPUPercent: s.rng.Float64() * 100, MemoryUsedBytes: s.rng.Int64N(1 << 40)}
		}
		s.registry.Apply(id, rep, s.now)
	}
}

// load is what routers count: every replica is in use, all of the time.
func (s *sim) load(often func(int) bool) {
	if s.traffic.Models == nil {
		s.traffic.Models = map[catalog.Name]reconciler.ModelTraffic{}
		s.traffic.Replicas = map[reconciler.ReplicaID]reconciler.ReplicaTraffic{}
		for i := range 20 {
			m := s.models[catalog.Name(fmt.Sprintf("m%03d", i*10))].Model
			most := 3
			m.Scaling = &catalog.Scaling{Max: &most, IdleTimeout: catalog.Duration(10 * time.Minute)}
			s.define(m)
		}
	}
	for name, e := range s.models {
		if !e.Model.OnDemand() || often(40) {
			s.traffic.Models[name] = reconciler.ModelTraffic{LastAsked: s.now, InFlight: 1 + s.rng.IntN(9)}
		} else if t := s.traffic.Models[name]; e.Model.OnDemand() {
			t.InFlight = 0
			s.traffic.Models[name] = t
		}
	}
	for i := range s.replicas {
		s.traffic.Replicas[s.replicas[i].ID] = reconciler.ReplicaTraffic{InFlight: s.rng.IntN(9), LastUsed: s.now}
	}
}
