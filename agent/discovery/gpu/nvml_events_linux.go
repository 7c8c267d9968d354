//go:build linux && cgo

package gpu

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// eventWait is how long one call waits for a message, in milliseconds: so long a
// child may outlive its end.
const eventWait = 2000

// ReadEvents tells of the driver's messages about cards until the context ends.
// It holds the driver open, so it is for a child.
func ReadEvents(ctx context.Context, library string, tell func(Event)) error {
	d, err := open(library)
	if err != nil {
		return err
	}
	defer d.close()
	return d.events(ctx, tell)
}

func (d *driver) events(ctx context.Context, tell func(Event)) error {
	set, r := d.lib.EventSetCreate()
	if r != nvml.SUCCESS {
		return fmt.Errorf("gpu: listen to the driver: %w", r)
	}
	defer func() { _ = set.Free() }()
	n, r := d.lib.DeviceGetCount()
	if r != nvml.SUCCESS {
		return fmt.Errorf("gpu: count the cards: %w", r)
	}
	heard := 0
	for i := range n {
		h, r := d.lib.DeviceGetHandleByIndex(i)
		if r != nvml.SUCCESS {
			continue
		}
		// A card that cannot tell of a kind refuses to be asked for it.
		can, r := h.GetSupportedEventTypes()
		if r != nvml.SUCCESS || can&nvml.EventTypeXidCriticalError == 0 {
			continue
		}
		if h.RegisterEvents(nvml.EventTypeXidCriticalError, set) == nvml.SUCCESS {
			heard++
		}
	}
	if heard == 0 {
		return errors.New("gpu: no card tells of its errors")
	}
	for ctx.Err() == nil {
		e, r := set.Wait(eventWait)
		switch {
		case r == nvml.ERROR_TIMEOUT:
		case r != nvml.SUCCESS:
			return fmt.Errorf("gpu: listen to the driver: %w", r)
		case e.EventType == nvml.EventTypeXidCriticalError:
			tell(eventOf(e))
		}
	}
	return nil
}

func eventOf(e nvml.EventData) Event {
	out := Event{At: time.Now(), XID: int(e.EventData)}
	if u, r := e.Device.GetUUID(); r == nvml.SUCCESS {
		out.UUID = u
	}
	if p, r := e.Device.GetPciInfo(); r == nvml.SUCCESS {
		out.PCI = Address(text(p.BusId[:]))
	}
	return out
}
