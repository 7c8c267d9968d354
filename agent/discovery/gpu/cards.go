package gpu

import (
	"context"
	"errors"
	"fmt"
	"time"

	"llmgw.io/llmgw/inventory"
)

// Config says where cards are found.
type Config struct {
	// Source reads the driver.
	Source Source
	// Heard gives the driver's messages since it was last called. Nil: nobody
	// listens.
	Heard func() []Event
	// Sys and Proc are the roots of sysfs and procfs. Empty: /sys and /proc.
	Sys, Proc string
	// Place says where the card with an address is. Nil: nobody knows.
	Place func(pci string) Place
	// Foreign says that a process is known to be none of our engines'. Nil: nobody
	// knows.
	Foreign func(pid int) bool
}

// Cards are the GPUs of a machine, and what is remembered of them. Its methods
// may be called at once; they take turns.
type Cards struct {
	cfg  Config
	turn chan struct{} // room for one; all below is whose it is

	health Health
	last   Snapshot
	at     time.Time // of the last reading, failed or not
	err    error     // what became of it
	ever   bool      // it worked once
	since  time.Time // since when it does not work
	// told is what foreign memory was told last, by index.
	told map[int]int64
}

const (
	// fresh is how old a reading may be for two who ask at once.
	fresh = time.Second
	// silence is how long a driver may not answer before its cards are out.
	silence = time.Minute
)

// New makes Cards.
func New(cfg Config) (*Cards, error) {
	if cfg.Source == nil {
		return nil, errors.New("gpu: Config.Source is missing")
	}
	if cfg.Sys == "" {
		cfg.Sys = "/sys"
	}
	if cfg.Proc == "" {
		cfg.Proc = "/proc"
	}
	if cfg.Place == nil {
		cfg.Place = func(string) Place { return Place{NUMA: -1} }
	}
	return &Cards{cfg: cfg, turn: make(chan struct{}, 1)}, nil
}

// Report is what a machine says of its GPUs.
type Report struct {
	// Devices are nil when nobody knows, and empty when there are none.
	Devices      []inventory.Device
	Driver, CUDA string
	Warnings     []string
}

// look reads the driver, unless somebody just did. The turn is the caller's when
// it returns true.
func (c *Cards) look(ctx context.Context) bool {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	if !c.at.IsZero() && time.Since(c.at) < fresh {
		return true
	}
	s, err := c.cfg.Source.Snapshot(ctx)
	if err != nil && ctx.Err() != nil {
		c.leave() // the driver is not to blame
		return false
	}
	now := time.Now()
	if c.cfg.Heard != nil {
		for _, e := range c.cfg.Heard() {
			c.health.Hear(now, e)
		}
	}
	c.at, c.err = now, err
	switch {
	case err == nil:
		c.last, c.ever, c.since = s, true, time.Time{}
		c.health.See(now, s.Cards)
	case c.since.IsZero():
		c.since = now
	}
	return true
}

func (c *Cards) leave() { <-c.turn }

// view is all that is known, with what the bus says.
func (c *Cards) view(bus BusView, hostMB int64) *View {
	now := time.Now()
	v := &View{
		Cards: c.health.Known(), Bus: bus.Cards, Place: c.cfg.Place, HostMB: hostMB, Foreign: c.cfg.Foreign, Told: c.told,
		Problem:  func(key string) string { return c.health.Problem(now, key) },
		Warnings: func(key string, best int) []string { return c.health.Warnings(now, key, best) },
	}
	if c.err != nil && now.Sub(c.since) >= silence {
		v.Stale = fmt.Sprintf("Nothing is known of it since %s: %s.", clock(c.since), plainly(c.err))
	}
	return v
}

// Report asks the driver and the kernel's files. hostMB is the machine's memory.
func (c *Cards) Report(ctx context.Context, hostMB int64) (Report, error) {
	if !c.look(ctx) {
		return Report{}, ctx.Err()
	}
	defer c.leave()
	bus := Bus(c.cfg.Sys, c.cfg.Proc)
	if !c.ever {
		return c.unread(bus)
	}
	r := Report{Driver: c.last.Driver, CUDA: c.last.CUDA}
	v := c.view(bus, hostMB)
	for i := range v.Bus {
		b := &v.Bus[i]
		b.Dead = b.Listed && c.health.find(b.UUID, b.PCI) == nil && dead(c.cfg.Sys, b.PCI)
	}
	r.Devices, r.Warnings = v.Devices()
	c.told = map[int]int64{}
	for _, d := range r.Devices {
		c.told[d.Index] = d.ForeignMB
	}
	r.Warnings = append(r.Warnings, c.last.Notes...)
	if bus.Unmanaged {
		r.Warnings = append(r.Warnings, "there are NVSwitches on the bus and no fabric manager runs: an engine on several GPUs will not start (CUDA error 802); start nvidia-fabricmanager")
	}
	if c.err != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("what is told of the GPUs is from before %s: %s", clock(c.since), plainly(c.err)))
	}
	return r, nil
}

// unread is the report of a machine whose driver never answered: what the
// kernel's files say, as warnings.
func (c *Cards) unread(bus BusView) (Report, error) {
	listed := 0
	r := Report{Driver: bus.Module}
	for _, b := range bus.Cards {
		if b.Listed {
			listed++
		}
	}
	switch {
	case errors.Is(c.err, ErrNoDriver) && len(bus.Cards) == 0:
		r.Devices = []inventory.Device{} // there are none
		return r, nil
	case len(bus.Cards) == 0:
		return r, c.err
	}
	r.Warnings = append(r.Warnings, fmt.Sprintf("%d NVIDIA GPUs are on the bus (%d of them have a driver) and are not used: %s", len(bus.Cards), listed, plainly(c.err)))
	return r, nil
}

// plainly is an error without the package's name before it.
func plainly(err error) string {
	text := err.Error()
	if len(text) > 5 && text[:5] == "gpu: " {
		return text[5:]
	}
	return text
}

// Sensors measures each card. Nil when the driver does not answer.
func (c *Cards) Sensors(ctx context.Context) []inventory.GPUSensor {
	if !c.look(ctx) {
		return nil
	}
	defer c.leave()
	if c.err != nil {
		return nil
	}
	numbers := c.view(Bus(c.cfg.Sys, c.cfg.Proc), 0).Number()
	var out []inventory.GPUSensor
	for i := range c.last.Cards {
		x := &c.last.Cards[i]
		n, ok := numbers[c.known(x)]
		if !ok || x.Lost != "" {
			continue
		}
		s := x.Sensors
		out = append(out, inventory.GPUSensor{Card: n, TempC: s.TempC, PowerW: s.PowerW, UtilPercent: s.UtilPercent, MemoryUsedMB: s.UsedMB})
	}
	return out
}

// known is the key under which a card is remembered.
func (c *Cards) known(x *Card) string {
	if r := c.health.find(x.UUID, x.PCI); r != nil {
		return r.card.key()
	}
	return x.key()
}

// Used is the memory in MiB that is really used of each device now, by its index,
// whoever uses it. A device that does not say is left out.
func (c *Cards) Used(ctx context.Context) (map[int]int64, error) {
	if !c.look(ctx) {
		return nil, ctx.Err()
	}
	defer c.leave()
	if c.err != nil {
		return nil, c.err
	}
	numbers := c.view(Bus(c.cfg.Sys, c.cfg.Proc), 0).Number()
	out := map[int]int64{}
	for i := range c.last.Cards {
		x := &c.last.Cards[i]
		n, ok := numbers[c.known(x)]
		if !ok {
			continue
		}
		if x.MIG != nil && x.MIG.On {
			for _, in := range x.MIG.Instances {
				if in.UsedMB != nil {
					out[instanceIndex(n, in.Index)] = *in.UsedMB
				}
			}
		} else if x.Sensors.UsedMB != nil {
			out[n] = *x.Sensors.UsedMB
		}
	}
	return out, nil
}
