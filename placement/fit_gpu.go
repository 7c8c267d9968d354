package placement

import (
	"fmt"
	"strings"

	"llmgw.io/llmgw/inventory"
)

// step is how far a device gets with a query: each step is a question that it
// passed after all those before it.
type step int8

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

// unknownStep stands for a kind of device that was not asked yet.
const unknownStep step = -1

// reach asks one device every question, in order. Those about what it is are
// asked of each kind once.
func (q *query) reach(d *device) step {
	for int(d.kind) >= len(q.kinds) {
		q.kinds = append(q.kinds, unknownStep)
	}
	s := q.kinds[d.kind]
	if s == unknownStep {
		s = q.reachKind(d)
		q.kinds[d.kind] = s
	}
	switch {
	case s < large:
		return s
	case !d.healthy:
		return large
	}
	if d.whole > 0 || d.shares > 0 && !q.need.shared {
		return healthy
	}
	if left, want, known := q.deviceRoom(d); known && left < want {
		return free
	}
	return roomy
}

// reachKind asks what is the same for all devices of a kind.
func (q *query) reachKind(d *device) step {
	switch {
	case q.need.class != "" && d.of.Class != q.need.class:
		return other
	case d.of.MIG() && (q.need.devices > 1 || q.need.shared || q.profile.ShardCount() > 1):
		return ofClass
	case d.capKnown && int(d.capability) < q.need.capability:
		return plain
	case d.memoryMB > 0 && d.nominalMB < q.need.deviceMB:
		return capable
	}
	return large
}

// has reports whether any device is of the class. Banks are few and devices
// many, and most hosts have other classes.
func (h *host) has(class inventory.Class) bool {
	if class == "" || len(h.banks) == 0 {
		return true
	}
	for b := range h.banks {
		if h.banks[b].class == class {
			return true
		}
	}
	return len(h.banks) == mostBanks
}

func (q *query) count() {
	t := &q.tally
	*t = tally{most: -1}
	if !q.brief && !q.h.has(q.need.class) {
		t.reached[other] = len(q.h.devices)
		return
	}
	var ended [roomy + 1]int // by the last step they got to
	for i := range q.h.devices {
		d := &q.h.devices[i]
		got := q.reach(d)
		ended[got]++
		if got >= ofClass && d.healthy && d.unused() {
			t.untouched++
		}
		if got >= capable {
			t.sizeMB = max(t.sizeMB, d.nominalMB)
		}
		if got < free {
			continue
		}
		if left, _, known := q.deviceRoom(d); known && (t.most < 0 || left > t.mostMB) {
			t.mostMB, t.most = left, d.of.Index
		}
	}
	sum := 0
	for s := roomy; s >= other; s-- {
		sum += ended[s]
		t.reached[s] = sum
	}
}

// deviceRoom is the memory left on a device and what the query wants of it, in
// MiB. A share wants what it reserves. A whole device wants what the profile
// names, else nine tenths: engines take a card for theirs, and memory that
// others use on it is what they then run out of.
func (q *query) deviceRoom(d *device) (left, want int64, known bool) {
	if q.need.shared {
		return d.shareableMB, q.need.deviceMB, d.memoryMB > 0 || d.whole > 0
	}
	if want = q.need.deviceMB; want == 0 {
		want = d.nominalMB / 10 * 9
	}
	return d.nominalMB - d.foreignMB, want, d.memoryMB > 0
}

func byClass(q *query) refusal {
	if t := q.devices(); q.need.devices == 0 || t.reached[other] == 0 || t.reached[ofClass] > 0 {
		return refusal{}
	}
	return refusal{reason: DeviceClass, need: int64(q.need.devices), unit: "devices", say: func(q *query, _ refusal) string {
		return q.asked() + ", has " + classList(q.h.node)
	}}
}

func byNumber(q *query) refusal {
	return q.tooFew(NoDevices, q.devices().reached[ofClass], func(q *query, r refusal) string {
		if r.have == 0 {
			return q.asked() + ", has no devices"
		}
		return fmt.Sprintf("%s, has %d", q.asked(), r.have)
	})
}

func byMIG(q *query) refusal {
	return q.tooFew(MIGGroup, q.devices().reached[plain], func(q *query, r refusal) string {
		return fmt.Sprintf("%s, has %d beside %d MIG instances, which serve one replica each", q.asked(), r.have, q.devices().reached[ofClass]-int(r.have))
	})
}

func byCapability(q *query) refusal {
	return q.tooFew(ComputeCapability, q.devices().reached[capable], func(q *query, r refusal) string {
		return fmt.Sprintf("%s with compute capability %s, %d such", q.asked(), q.profile.GPU.ComputeCapability, r.have)
	})
}

func byDeviceSize(q *query) refusal {
	t := q.devices()
	if q.need.devices == 0 || t.reached[large] >= q.need.devices {
		return refusal{}
	}
	return refusal{reason: DeviceMemory, need: q.need.deviceMB, have: t.sizeMB, unit: "MiB", say: func(q *query, r refusal) string {
		return fmt.Sprintf("%s with %s each, the largest there has %s", q.asked(), gib(r.need), gib(r.have))
	}}
}

func byHealth(q *query) refusal {
	return q.tooFew(DevicesUnhealthy, q.devices().reached[healthy], func(q *query, r refusal) string {
		return fmt.Sprintf("%s, %d healthy%s", q.asked(), r.have, firstProblem(q.h.node))
	})
}

func byFreeDevices(q *query) refusal {
	if q.brief && !q.need.shared && q.h.untouched < q.need.devices {
		return refusal{reason: DevicesBusy}
	}
	return q.tooFew(DevicesBusy, q.devices().reached[free], func(q *query, r refusal) string {
		return fmt.Sprintf("%s, %d free", q.asked(), r.have)
	})
}

func byDeviceMemory(q *query) refusal {
	t := q.devices()
	if q.need.devices == 0 || t.reached[roomy] >= q.need.devices {
		return refusal{}
	}
	want := q.need.deviceMB
	if d := q.h.device(t.most); d != nil {
		_, want, _ = q.deviceRoom(d)
	}
	return refusal{reason: DeviceMemory, need: want, have: max(0, t.mostMB), unit: "MiB", say: sayDeviceMemory}
}

func sayDeviceMemory(q *query, r refusal) string {
	t := q.devices()
	text := fmt.Sprintf("%s with %s free, the most there has %s", q.asked(), gib(r.need), gib(r.have))
	if q.need.devices > 1 {
		text = fmt.Sprintf("%s with %s free each, %d such; the most there has %s", q.asked(), gib(r.need), t.reached[roomy], gib(r.have))
	}
	var used, reserved int64
	for i := range q.h.devices {
		d := &q.h.devices[i]
		if q.need.class == "" || d.of.Class == q.need.class {
			used, reserved = used+d.foreignMB, reserved+d.sharedMB
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
func (q *query) tooFew(reason Reason, have int, say func(*query, refusal) string) refusal {
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
