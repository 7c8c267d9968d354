package engines

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// deviceAt is what the machine says of a shard's device. ok is false where it
// does not.
func deviceAt(at protocol.Launch, share inventory.DeviceShare) (d inventory.Device, ok bool) {
	for _, d := range at.Devices {
		if d.Index == share.Index {
			return d, d.UUID != "" || d.Class != "" || d.MemoryMB > 0
		}
	}
	return inventory.Device{}, false
}

// visible is how CUDA is told which devices an engine may use. Where it takes them by
// UUID and all have one, by that: numbers move when a card falls off the bus, and an
// engine that is started then would get one that another has. Else whole cards by
// their number in the order of the bus, and an instance of a partitioned card by its
// UUID, which is the only name it has. Empty hides all of them.
func visible(d protocol.DesiredShard, at protocol.Launch, uuids bool) string {
	parts := make([]string, len(d.Devices))
	names := make([]string, len(d.Devices))
	for i, s := range d.Devices {
		dev, ok := deviceAt(at, s)
		parts[i], names[i] = strconv.Itoa(s.Index), dev.UUID
		switch {
		case ok && dev.MIG():
			parts[i] = dev.UUID
		case ok:
			parts[i] = strconv.Itoa(dev.Card)
			uuids = uuids && cardName(dev.UUID)
		default:
			uuids = false
		}
	}
	if uuids {
		parts = names
	}
	return strings.Join(parts, ",")
}

// cardName reports whether a UUID is that of a whole card.
func cardName(uuid string) bool {
	return strings.HasPrefix(uuid, "GPU-") && !strings.ContainsAny(uuid, ", \t\n")
}

// hasInstance reports whether a shard has an instance of a partitioned card.
func hasInstance(d protocol.DesiredShard, at protocol.Launch) bool {
	for _, s := range d.Devices {
		if dev, ok := deviceAt(at, s); ok && dev.MIG() {
			return true
		}
	}
	return false
}

// checkInstances says what no engine can do with instances of partitioned cards.
func checkInstances(d protocol.DesiredShard, at protocol.Launch) error {
	if !hasInstance(d, at) {
		return nil
	}
	if len(d.Devices) > 1 {
		return fmt.Errorf("%s: instances of partitioned cards cannot be joined, and this shard has %d devices; set gpu.count to 1", about(d), len(d.Devices))
	}
	dev, _ := deviceAt(at, d.Devices[0])
	if !strings.HasPrefix(dev.UUID, "MIG-") || strings.ContainsAny(dev.UUID, ", \t\n") {
		return fmt.Errorf("%s: the node does not say the UUID of instance %s, so no engine can be put on it; look at the node's facts", about(d), dev.Label)
	}
	return nil
}

// given reports whether args have one of the flags, in any of its spellings.
func given(args []string, flags ...string) bool {
	for _, a := range args {
		flag, _, _ := strings.Cut(a, "=")
		flag = strings.ReplaceAll(flag, "_", "-")
		for _, f := range flags {
			if flag == f {
				return true
			}
		}
	}
	return false
}

// refusals gathers what an engine cannot be started with.
type refusals struct {
	d    protocol.DesiredShard
	errs []error
}

// when adds a sentence if bad.
func (r *refusals) when(bad bool, format string, args ...any) {
	if bad {
		r.errs = append(r.errs, fmt.Errorf("%s: "+format, append([]any{about(r.d)}, args...)...))
	}
}

func (r *refusals) all() error { return errors.Join(r.errs...) }
