package replay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// differences says what is decided otherwise than it was. Where actions differ,
// they are all that is said: the rest follows from them.
func differences(was, is *decidedForm, plan *reconciler.Plan) []string {
	if !alike(plain(was.Actions), plain(is.Actions)) {
		if out := actionLines(was, is, plan); len(out) > 0 {
			return out
		}
		return []string{"the same actions would be ordered in another order"}
	}
	var out []string
	say := func(same bool, format string, args ...any) {
		if !same {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	out = append(out, eventLines(was.Events, is.Events)...)
	out = append(out, traceLines(was, is)...)
	say(was.Brake.Since.Equal(is.Brake.Since) && was.Brake.Reason == is.Brake.Reason, "the brake was %s, and would be %s", brake(was.Brake), brake(is.Brake))
	say(was.OrdersDone == is.OrdersDone, "%d orders were taken, and %d would be", was.OrdersDone, is.OrdersDone)
	say(was.WakeAt.Equal(is.WakeAt), "the next look was due at %s, and would be at %s", clock(was.WakeAt), clock(is.WakeAt))
	say(was.Health == is.Health, "people would be told otherwise how models are")
	say(was.Memory == is.Memory, "otherwise would be remembered")
	return out
}

// plain are actions without fingerprints: they follow from profiles, of which
// secrets were left out.
func plain(actions []actionForm) []actionForm {
	out := slices.Clone(actions)
	for i := range out {
		if r := out[i].Replica; r != nil && out[i].Kind == reconciler.Place {
			c := *r
			c.Fingerprint = ""
			out[i].Replica = &c
		}
	}
	return out
}

// actionLines tells of each replica that is treated otherwise.
func actionLines(was, is *decidedForm, plan *reconciler.Plan) []string {
	index := func(actions []actionForm) map[reconciler.ReplicaID]*actionForm {
		out := make(map[reconciler.ReplicaID]*actionForm, len(actions))
		for i := range actions {
			out[actions[i].ID] = &actions[i]
		}
		return out
	}
	before, after := index(plain(was.Actions)), index(plain(is.Actions))
	both := maps.Clone(before)
	maps.Copy(both, after)
	var out []string
	for _, id := range slices.Sorted(maps.Keys(both)) {
		w, i := before[id], after[id]
		if w != nil && i != nil && alike(w, i) {
			continue
		}
		line := fmt.Sprintf("model %s, replica %s: was %s, would %s", both[id].Model, id, past(w), future(i))
		if why := because(was, is, plan, w, i); why != "" {
			line += ", because " + why
		}
		out = append(out, line)
	}
	return out
}

func past(a *actionForm) string {
	if a == nil {
		return "left alone"
	}
	switch {
	case a.Kind == reconciler.Place && a.Replica != nil:
		return "placed on " + spots(a.Replica)
	case a.Kind == reconciler.Forget:
		return "forgotten"
	case a.Replica != nil:
		return fmt.Sprintf("put into phase %s (%s)", a.Replica.Phase, strings.TrimSuffix(a.Why, "."))
	}
	return string(a.Kind)
}

func future(a *actionForm) string {
	if a == nil {
		return "be left alone"
	}
	return "be " + past(a)
}

// spots says where a replica stands: "a1 [0-1], a2 [0-1] with profile p".
func spots(r *replicaForm) string {
	var out []string
	for i := range r.Shards {
		s := &r.Shards[i].Spot
		text := string(s.Node)
		if len(s.Devices) > 0 {
			text += " [" + devices(s.Devices) + "]"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ") + " with profile " + r.Profile.Name
}

// devices writes ranges of whole devices, and parts with their memory.
func devices(shares []inventory.DeviceShare) string {
	shares = slices.SortedFunc(slices.Values(shares), func(a, b inventory.DeviceShare) int { return cmp.Compare(a.Index, b.Index) })
	var out []string
	for i := 0; i < len(shares); i++ {
		first := shares[i]
		if first.MemoryMB > 0 {
			out = append(out, fmt.Sprintf("%d with %d MiB", first.Index, first.MemoryMB))
			continue
		}
		last := first
		for i+1 < len(shares) && shares[i+1].MemoryMB == 0 && shares[i+1].Index == last.Index+1 {
			i++
			last = shares[i]
		}
		if last == first {
			out = append(out, fmt.Sprint(first.Index))
		} else {
			out = append(out, fmt.Sprintf("%d-%d", first.Index, last.Index))
		}
	}
	return strings.Join(out, ",")
}

func eventLines(was, is []reconciler.Event) []string {
	var out []string
	for n := range max(len(was), len(is)) {
		switch {
		case n >= len(is):
			out = append(out, fmt.Sprintf("would not be told: %s: %s", was[n].Kind, was[n].Text))
		case n >= len(was):
			out = append(out, fmt.Sprintf("would be told: %s: %s", is[n].Kind, is[n].Text))
		case !alike(was[n], is[n]):
			out = append(out, fmt.Sprintf("was told: %s: %s; would be: %s: %s", was[n].Kind, was[n].Text, is[n].Kind, is[n].Text))
		}
	}
	return out
}

func traceLines(was, is *decidedForm) []string {
	both := maps.Clone(was.Traces)
	if both == nil {
		both = maps.Clone(is.Traces)
	}
	maps.Copy(both, is.Traces)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(both)) {
		w, i := was.Traces[name], is.Traces[name]
		if !alike(w, i) {
			out = append(out, fmt.Sprintf("model %s: %s; would be: %s", name, looked(w), looked(i)))
		}
	}
	return out
}

func brake(b reconciler.Brake) string {
	if !b.On() {
		return "released"
	}
	return "set: " + b.Reason
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "a change only"
	}
	return t.UTC().Format(time.RFC3339Nano)
}
