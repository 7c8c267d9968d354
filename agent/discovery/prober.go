package discovery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"

	"llmgw.io/llmgw/agent/discovery/gpu"
	"llmgw.io/llmgw/agent/discovery/ports"
	"llmgw.io/llmgw/inventory"
)

// Config says where to look and what is known already.
type Config struct {
	// Sys, Proc and Etc are the roots of the kernel's and the system's files.
	// Empty: /sys, /proc and /etc.
	Sys, Proc, Etc string
	// WeightsDirs are absolute folders of weights. Empty: nobody looks for
	// weights or disks, and the facts do not say.
	WeightsDirs []string
	// Labels are this machine's. LabelsFile is a file with more, a key=value a
	// line; LabelList has more in one line, "a=b,c=d", as the variable
	// LLMGW_LABELS does. The later win.
	Labels     map[string]string
	LabelsFile string
	LabelList  string
	// ReserveMB and ReserveCPUs are kept for the system. Zero: 4 GiB or 5 % of
	// the memory, and 2 cores or 10 %, the smaller of each.
	ReserveMB   int64
	ReserveCPUs int
	// Ports is how ports for fabrics are read. Its empty roots are those above.
	Ports ports.Config
	// Engines lists what is installed. Nil: the facts do not say.
	Engines func(context.Context) []inventory.Engine
	// Hostname replaces the kernel's. Empty: the kernel's.
	Hostname string
	// MgmtAddr is this machine's address for others. Empty: the one from which
	// Toward is reached.
	MgmtAddr string
	// Toward is the control plane's host, with or without a port. Empty: the
	// facts do not say an address.
	Toward string
	// Version is the agent's own. May be empty.
	Version string
	// GPUs reads the driver of GPUs. Nil: nobody does, and the facts do not say.
	GPUs gpu.Source
	// GPUEvents gives what the driver said of cards since the last call. Nil:
	// nobody listens.
	GPUEvents func() []gpu.Event
	// Foreign says that a process is known to be none of our engines'. Nil: nobody
	// knows, and no memory of a device is called foreign.
	Foreign func(pid int) bool
}

// Prober finds facts about this machine. Its methods are to be called one at a
// time. [New] makes one.
type Prober struct {
	cfg    Config
	fabric *ports.Reader
	room   func(path string) (diskRoom, error)
	avx2   func() bool
	asked  func() []string
	slow   guard
	cpu    cpuMeter
	rapl   powerMeter
	// cards is nil where nobody reads GPUs.
	cards *gpu.Cards
	// headers are of files of weights that were looked at.
	headers headers
}

// New makes a Prober.
func New(cfg Config) (*Prober, error) {
	cfg.Labels = maps.Clone(cfg.Labels)
	for _, d := range []struct {
		at  *string
		def string
	}{{&cfg.Sys, "/sys"}, {&cfg.Proc, "/proc"}, {&cfg.Etc, "/etc"}} {
		if *d.at == "" {
			*d.at = d.def
		}
	}
	var errs []error
	for _, d := range cfg.WeightsDirs {
		if !filepath.IsAbs(d) {
			errs = append(errs, fmt.Errorf("discovery: Config.WeightsDirs: %q must be an absolute folder", d))
		}
	}
	if cfg.ReserveMB < 0 || cfg.ReserveCPUs < 0 {
		errs = append(errs, errors.New("discovery: Config.ReserveMB and Config.ReserveCPUs may not be negative"))
	}
	fabric, err := newPorts(cfg)
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	p := &Prober{cfg: cfg, fabric: fabric, room: statRoom, avx2: hasAVX2, asked: askCPU}
	p.cards, err = p.findCards()
	return p, err
}

// finder finds one fact. Its error says why it is not known.
type finder struct {
	what string
	find func(*Prober, context.Context, *inventory.Facts) error
}

// finders are in an order that matters twice: the reserve needs processors and
// memory, and it is the order of the warnings.
var finders = []finder{
	{"the host name", (*Prober).hostname},
	{"the management address", (*Prober).mgmtAddr},
	{"the operating system", (*Prober).system},
	{"the kernel's version", (*Prober).kernel},
	{"the boot id", (*Prober).boot},
	{"the number of processors", (*Prober).processors},
	{"what the processor can do", (*Prober).instructions},
	{"the flags of the processor", (*Prober).flags},
	{"whether the machine is virtual", (*Prober).virtual},
	{"the memory", (*Prober).memory},
	{"the reserve", (*Prober).reserve},
	{"the disk of weights", (*Prober).disks},
	{"the weights on disk", (*Prober).weights},
	{"the labels", (*Prober).labels},
	{"the GPUs", (*Prober).gpus},
	{"the ports", (*Prober).ports},
	{"the state of IMEX", (*Prober).imex},
	{"the engines", (*Prober).engines},
}

// Facts finds what this machine is. What cannot be found is left out, with a
// warning.
func (p *Prober) Facts(ctx context.Context) inventory.Facts {
	f := inventory.Facts{AgentVersion: p.cfg.Version, Arch: runtime.GOARCH}
	for _, one := range finders {
		if err := one.find(p, ctx, &f); err != nil {
			f.Warnings = append(f.Warnings, fmt.Sprintf("%s cannot be found: %v", one.what, err))
		}
	}
	return f
}

// Sample measures this machine. What cannot be measured is left out.
func (p *Prober) Sample(ctx context.Context) inventory.Sample {
	var s inventory.Sample
	s.Load1, s.Load5, s.Load15 = p.load()
	s.CPUPercent = p.cpu.read(p.proc("stat"))
	s.MemoryUsedBytes, s.MemoryTotalBytes = p.memoryUse()
	s.DiskFreeBytes = p.diskFree(ctx)
	p.sensors(&s)
	s.GPUs = p.gpuSensors(ctx)
	s.Ports = p.fabric.Counters()
	return s
}

func (p *Prober) reserve(_ context.Context, f *inventory.Facts) error {
	n := inventory.Node{Facts: *f}
	n.Facts.ReserveMB, n.Facts.ReserveCPUs = p.cfg.ReserveMB, p.cfg.ReserveCPUs
	f.ReserveMB, f.ReserveCPUs = n.SystemReserve()
	return nil
}

func (p *Prober) engines(ctx context.Context, f *inventory.Facts) error {
	if p.cfg.Engines == nil {
		return nil
	}
	if f.Engines = p.cfg.Engines(ctx); f.Engines == nil {
		f.Engines = []inventory.Engine{}
	}
	return nil
}

// proc and sys are paths below the roots.
func (p *Prober) proc(name string) string { return filepath.Join(p.cfg.Proc, name) }
func (p *Prober) sys(name string) string  { return filepath.Join(p.cfg.Sys, name) }

// plain takes the path out of an error about a file, which has it already.
func plain(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return fmt.Errorf("%s: %w", e.Path, e.Err)
	}
	return err
}
