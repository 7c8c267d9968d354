package placement

import (
	"fmt"
	"strings"

	"llmgw.io/llmgw/inventory"
)

// step is how far a device gets with a query: each step is a question that it
// passed after all those before it.
type step int

const (
	other   step = iota // of another class
	ofClass             // of the class that is asked for
	plain               // not an instance where only whole cards will do
	capable             // new enough
	large               // large enough when empty
	healthy             // without a problem
	free                // nobody's; for a share: nobody has it whole
	roomy               // with the memory now, beside all who use it
)

// tally counts a node's devices by how far they get.
type tally struct {
	// reached counts those that got to a step or beyond it.
	reached [roomy + 1]int
	// untouched is how many of the class are healthy and wholly free.
	untouched int
	// sizeMB is the size of the largest capable device, mostMB the most memory
	// that a free one has left, both in MiB; most is that one's index, -1 when
	// none is known.
	sizeMB, mostMB int64
	most           int
}

// reach asks one device every question, in order.
func (q *query) reach(n *inventory.Node, d *inventory.Device) step {
	c, known := capability(d.ComputeCapability)
	switch {
	case q.need.class != "" && d.Class != q.need.class:
		return other
	case d.MIG() && (q.need.devices > 1 || q.need.shared):
		return ofClass
	case known && c < q.need.capability:
		return plain
	case d.MemoryMB > 0 && nominalMB(d) < q.need.deviceMB:
		return capable
	case !d.Healthy():
		return large
	}
	if use := n.DeviceUse(d.Index); use.Whole > 0 || use.Shares > 0 && !q.need.shared {
		return healthy
	}
	if left, want, known := q.deviceRoom(n, d); known && left < want {
		return free
	}
	return roomy
}

func (q *query) count(n *inventory.Node) tally {
	t := tally{most: -1}
	for i := range n.Facts.Devices {
		d := &n.Facts.Devices[i]
		got := q.reach(n, d)
		for s := other; s <= got; s++ {
			t.reached[s]++
		}
		if got >= ofClass && d.Healthy() && n.DeviceUse(d.Index).Free() {
			t.untouched++
		}
		if got >= capable {
			t.sizeMB = max(t.sizeMB, nominalMB(d))
		}
		if got < free {
			continue
		}
		if left, _, known := q.deviceRoom(n, d); known && (t.most < 0 || left > t.mostMB) {
			t.mostMB, t.most = left, d.Index
		}
	}
	return t
}

// nominalMB is a whole device's size as people name it: drivers keep a few MiB
// for themselves, so that a card of 24 GiB says 24564 MiB.
func nominalMB(d *inventory.Device) int64 { return (d.MemoryMB + 1023) &^ 1023 }

// deviceRoom is the memory left on a device and what the query wants of it, in
// MiB. A share wants what it reserves. A whole device wants what the profile
// names, else nine tenths: engines take a card for theirs, and memory that
// others use on it is what they then run out of.
func (q *query) deviceRoom(n *inventory.Node, d *inventory.Device) (left, want int64, known bool) {
	if q.need.shared {
		left, known = n.ShareableMB(*d)
		return left, q.need.deviceMB, known
	}
	if want = q.need.deviceMB; want == 0 {
		want = nominalMB(d) / 10 * 9
	}
	return nominalMB(d) - d.ForeignMB, want, d.MemoryMB > 0
}

func byClass(q *query, n *inventory.Node) refusal {
	if t := q.devices(n); q.need.devices == 0 || t.reached[other] == 0 || t.reached[ofClass] > 0 {
		return refusal{}
	}
	return refusal{reason: DeviceClass, need: int64(q.need.devices), unit: "devices", say: func(q *query, n *inventory.Node, _ refusal) string {
		return q.asked() + ", has " + classList(n)
	}}
}

func byNumber(q *query, n *inventory.Node) refusal {
	return q.tooFew(NoDevices, q.devices(n).reached[ofClass], func(q *query, _ *inventory.Node, r refusal) string {
		if r.have == 0 {
			return q.asked() + ", has no devices"
		}
		return fmt.Sprintf("%s, has %d", q.asked(), r.have)
	})
}

func byMIG(q *query, n *inventory.Node) refusal {
	return q.tooFew(MIGGroup, q.devices(n).reached[plain], func(q *query, n *inventory.Node, r refusal) string {
		return fmt.Sprintf("%s, has %d beside %d MIG instances, which serve one replica each", q.asked(), r.have, q.devices(n).reached[ofClass]-int(r.have))
	})
}

func byCapability(q *query, n *inventory.Node) refusal {
	return q.tooFew(ComputeCapability, q.devices(n).reached[capable], func(q *query, _ *inventory.Node, r refusal) string {
		return fmt.Sprintf("%s with compute capability %s, %d such", q.asked(), q.profile.GPU.ComputeCapability, r.have)
	})
}

func byDeviceSize(q *query, n *inventory.Node) refusal {
	t := q.devices(n)
	if q.need.devices == 0 || t.reached[large] >= q.need.devices {
		return refusal{}
	}
	return refusal{reason: DeviceMemory, need: q.need.deviceMB, have: t.sizeMB, unit: "MiB", say: func(q *query, _ *inventory.Node, r refusal) string {
		return fmt.Sprintf("%s with %s each, the largest there has %s", q.asked(), gib(r.need), gib(r.have))
	}}
}

func byHealth(q *query, n *inventory.Node) refusal {
	return q.tooFew(DevicesUnhealthy, q.devices(n).reached[healthy], func(q *query, n *inventory.Node, r refusal) string {
		return fmt.Sprintf("%s, %d healthy%s", q.asked(), r.have, firstProblem(n))
	})
}

func byFreeDevices(q *query, n *inventory.Node) refusal {
	return q.tooFew(DevicesBusy, q.devices(n).reached[free], func(q *query, _ *inventory.Node, r refusal) string {
		return fmt.Sprintf("%s, %d free", q.asked(), r.have)
	})
}

func byDeviceMemory(q *query, n *inventory.Node) refusal {
	t := q.devices(n)
	if q.need.devices == 0 || t.reached[roomy] >= q.need.devices {
		return refusal{}
	}
	want := q.need.deviceMB
	if d, ok := n.Device(t.most); ok {
		_, want, _ = q.deviceRoom(n, &d)
	}
	return refusal{reason: DeviceMemory, need: want, have: max(0, t.mostMB), unit: "MiB", say: sayDeviceMemory}
}

func sayDeviceMemory(q *query, n *inventory.Node, r refusal) string {
	t := q.devices(n)
	text := fmt.Sprintf("%s with %s free, the most there has %s", q.asked(), gib(r.need), gib(r.have))
	if q.need.devices > 1 {
		text = fmt.Sprintf("%s with %s free each, %d such; the most there has %s", q.asked(), gib(r.need), t.reached[roomy], gib(r.have))
	}
	var used, reserved int64
	for i := range n.Facts.Devices {
		d := &n.Facts.Devices[i]
		if q.need.class == "" || d.Class == q.need.class {
			used, reserved = used+d.ForeignMB, reserved+n.DeviceUse(d.Index).SharedMB
		}
	}
	if reserved > 0 {
		text += fmt.Sprintf("; %s are reserved by replicas that share", gib(reserved))
	}
	if used > 0 {
		text += fmt.Sprintf("; %s are used by processes that llmgw did not start", gib(used))
	}
	return text
}

// tooFew refuses a node on which fewer devices than are needed pass a question.
func (q *query) tooFew(reason Reason, have int, say func(*query, *inventory.Node, refusal) string) refusal {
	if have >= q.need.devices {
		return refusal{}
	}
	return refusal{reason: reason, need: int64(q.need.devices), have: int64(have), unit: "devices", say: say}
}

// asked is "needs 2 of H100-80".
func (q *query) asked() string {
	switch {
	case q.need.class != "":
		return fmt.Sprintf("needs %d of %s", q.need.devices, q.need.class)
	case q.need.devices == 1:
		return "needs a device"
	}
	return fmt.Sprintf("needs %d devices", q.need.devices)
}

func classList(n *inventory.Node) string {
	var out []string
	for _, c := range n.ClassCounts() {
		out = append(out, fmt.Sprintf("%d of %s", c.Total, c.Class))
	}
	return strings.Join(out, ", ")
}

func firstProblem(n *inventory.Node) string {
	for i := range n.Facts.Devices {
		if d := &n.Facts.Devices[i]; !d.Healthy() {
			return fmt.Sprintf(" (device %s: %s)", d.Label, d.Problem)
		}
	}
	return ""
}
