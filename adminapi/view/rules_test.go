package view_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// Absent is never zero: a node that said nothing shows none of what it did not
// say, and one that said "none" shows an empty list.
func TestAbsentIsNeverZero(t *testing.T) {
	t.Parallel()
	w := world()
	fields := func(n *inventory.Node) map[string]any {
		b, err := json.Marshal(view.NodeOf(w, n))
		if err != nil {
			t.Fatal(err)
		}
		var out map[string]any
		if err := json.Unmarshal(b, &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	silent := fields(silentNode())
	for _, f := range []string{"memory_gb", "cpu_count", "disk_free_gb", "disk_total_gb", "engines", "models_on_disk", "features", "load", "location", "gpus", "engine_builds"} {
		if v, ok := silent[f]; ok {
			t.Errorf("%s was not said, and is shown as %v", f, v)
		}
	}
	if silent["last_seen_ago"] != "" {
		t.Errorf("a node that was never heard was seen %q ago", silent["last_seen_ago"])
	}
	empty := silentNode()
	empty.Facts.Engines, empty.Facts.Weights, empty.Facts.Features = []inventory.Engine{}, []inventory.Weight{}, []string{}
	empty.Facts.DiskFreeMB = 1
	said := fields(empty)
	for _, f := range []string{"engines", "models_on_disk", "features"} {
		if v, ok := said[f].([]any); !ok || len(v) != 0 {
			t.Errorf("%s is none, and is shown as %v", f, said[f])
		}
	}
	if said["disk_free_gb"] != 0.0 {
		t.Errorf("less than a GiB is 0, and known: got %v", said["disk_free_gb"])
	}
}

func TestOldMeasurementsAreLeftOut(t *testing.T) {
	t.Parallel()
	w := world()
	for ago, shown := range map[time.Duration]bool{0: true, time.Minute: true, time.Minute + time.Second: false} {
		n := fullNode()
		n.SampleAt = now.Add(-ago)
		w.View.Fleet = inventory.NewSnapshot(1, []*inventory.Node{n})
		v := view.NodeOf(w, n)
		if (v.Load != nil) != shown || (v.GPUs[0].MemoryUsedMB != nil) != shown {
			t.Errorf("after %s: want shown %v, got %v", ago, shown, v.Load)
		}
		r := view.ReplicasOf(w, "big")[0]
		if (r.Shards[0].MemoryBytes != nil) != shown {
			t.Errorf("after %s: want the shard's use shown %v", ago, shown)
		}
	}
}

func TestEachDeviceIsOneThing(t *testing.T) {
	t.Parallel()
	n := fullNode()
	n.Facts.Devices[1].Problem = "it fell off the bus" // in use, and unhealthy: it counts once
	v := view.NodeOf(world(), n)
	free, unhealthy, total := 0, 0, 0
	for _, c := range v.GPUsByClass {
		free, unhealthy, total = free+c.Free, unhealthy+c.Unhealthy, total+c.Total
	}
	if v.GPUFree != free || free != 2 || unhealthy != 2 || total != v.GPUTotal || len(v.UnhealthyGPUs) != 2 {
		t.Errorf("want 4 devices, 2 free and 2 unhealthy, got %+v", v.GPUsByClass)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	build := func(change func(*catalog.Profile), use int64) []string {
		w := world()
		w.Looks = nil
		m := tiny()
		m.Profiles[0].MemoryGB = 8
		change(&m.Profiles[0])
		n := fullNode()
		n.Shards = []inventory.ShardStatus{{ID: "tiny-2.0", State: inventory.ShardReady, Use: &inventory.ShardUse{MemoryBytes: use}}}
		w.View.Fleet = inventory.NewSnapshot(1, []*inventory.Node{n})
		return view.ModelOf(w, &catalog.Entry{Model: m}).Warnings
	}
	none := func(*catalog.Profile) {}
	const gib = 1 << 30
	cases := []struct {
		name   string
		change func(*catalog.Profile)
		use    int64
		says   string // empty: no warning
	}{
		{"within", none, 8 * gib, ""},
		{"a tenth over is mapped weights", none, 8*gib + 8*gib/10, ""},
		{"more than a tenth over", none, 9 * gib, "uses 9.0 GB and reserves 8: raise it"},
		{"CPUs without memory", func(p *catalog.Profile) { p.MemoryGB = 0 }, 0, "llmgw-control ctl models resources tiny --profile cpu --memory-gb"},
		{"devices without host memory", func(p *catalog.Profile) { p.MemoryGB, p.GPU = 0, &catalog.GPU{Count: 1} }, 0, ""},
		{"run by others", func(p *catalog.Profile) { p.MemoryGB, p.Engine = 0, catalog.EngineStatic }, 0, ""},
	}
	for _, c := range cases {
		got := strings.Join(build(c.change, c.use), "\n")
		if (c.says == "") != (got == "") || !strings.Contains(got, c.says) {
			t.Errorf("%s: want %q, got %q", c.name, c.says, got)
		}
	}
}

func TestStaleness(t *testing.T) {
	t.Parallel()
	w := world()
	got := map[string]bool{}
	for _, r := range view.ReplicasOf(w, "") {
		got[r.ID] = r.Stale
	}
	// big-1 was placed before an edit, big-3 with defaults filled in, tiny-2
	// has no fingerprint.
	if !got["big-1"] || got["big-3"] || got["tiny-2"] {
		t.Errorf("want big-1 alone to be stale, got %v", got)
	}
	w.View.Catalog = catalog.NewIndex(1, nil)
	if view.ReplicasOf(w, "big")[0].Stale {
		t.Error("a replica whose model is gone is not stale")
	}
}

func TestModelsTheLoopHasNotSeen(t *testing.T) {
	t.Parallel()
	w := world()
	m := tiny()
	m.Name, m.Scaling = "new", &catalog.Scaling{Min: 2}
	v := view.ModelOf(w, &catalog.Entry{Model: m})
	if v.DesiredReplicas != 2 || v.ReadyReplicas != 0 {
		t.Errorf("want what the definition says, got %+v", v)
	}
}

func TestPreempted(t *testing.T) {
	t.Parallel()
	w := world()
	w.View.Health["tiny"] = reconciler.ModelHealth{Why: reconciler.WhyPreempted, Preempted: 1, HeldFor: "big"}
	e, _ := w.View.Catalog.Get("tiny")
	if v := view.ModelOf(w, e); v.Preempted != 1 || v.HeldFor != "big" {
		t.Errorf("want it short of one for big, got %d for %q", v.Preempted, v.HeldFor)
	}
}

func TestClocksThatAreOff(t *testing.T) {
	t.Parallel()
	for skew, says := range map[time.Duration]string{
		0: "no AVX2", 29 * time.Second: "no AVX2", -45 * time.Second: "45s behind the control plane's; set it",
		10 * time.Minute: "10m0s ahead of the control plane's, so nothing new is placed there",
	} {
		n := fullNode()
		n.ClockSkew = skew
		got := view.NodeOf(world(), n).Warnings
		if !strings.Contains(got[len(got)-1], says) || got[0] != "no AVX2" {
			t.Errorf("off by %s: want %q last, got %q", skew, says, got)
		}
	}
}
