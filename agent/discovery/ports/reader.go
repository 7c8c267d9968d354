package ports

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"path"
	"path/filepath"
	"time"

	"llmgw.io/llmgw/inventory"
)

// Config says where to look and what to leave alone. Its zero value reads this
// machine.
type Config struct {
	// Sys, Proc and Dev are the roots of the kernel's files and of the devices.
	// Empty: /sys, /proc and /dev.
	Sys, Proc, Dev string
	// Exclude names adapters that are never read, by name or pattern
	// ("mlx5_1*"): on some functions each look at a counter makes the driver log
	// an error.
	Exclude []string
	// Tools are where programs are.
	Tools Tools
	// Env is added to the environment of the programs. They inherit only PATH.
	Env []string
	// Dir is the folder they run in. Empty: the agent's own.
	Dir string
	// Every is how often a fabric is asked who manages it. Zero: a minute.
	Every time.Duration
	// Addrs lists the addresses of this machine's interfaces. Nil: the system's.
	Addrs func() ([]Addr, error)
}

// Tools are paths of programs. An empty one is looked up on the PATH and where
// administrators' programs are.
type Tools struct {
	SMInfo, SAQuery, SMPQuery, IBNetDiscover string
	IMEXCtl, Systemctl                       string
}

// Addr is an address of an interface, with the size of its network.
type Addr struct {
	Interface string
	Prefix    netip.Prefix
}

// Reader reads the ports of one machine. [New] makes one.
type Reader struct {
	cfg Config
	// tool runs a program for so long and reads so many bytes of what it prints.
	tool     func(ctx context.Context, limit time.Duration, most int, path string, args ...string) ([]byte, error)
	managers managers
	flaps    map[string]*flap
	resting  map[string]resting
	scanning chan struct{}
}

// New makes a Reader.
func New(cfg Config) (*Reader, error) {
	for _, d := range []struct {
		at  *string
		def string
	}{{&cfg.Sys, "/sys"}, {&cfg.Proc, "/proc"}, {&cfg.Dev, "/dev"}} {
		if *d.at == "" {
			*d.at = d.def
		}
	}
	if cfg.Every == 0 {
		cfg.Every = time.Minute
	}
	if cfg.Addrs == nil {
		cfg.Addrs = systemAddrs
	}
	var errs []error
	for _, pattern := range cfg.Exclude {
		if _, err := path.Match(pattern, ""); err != nil {
			errs = append(errs, fmt.Errorf("ports: Config.Exclude: %q is no name of an adapter and no pattern of names", pattern))
		}
	}
	if cfg.Every < 0 {
		errs = append(errs, errors.New("ports: Config.Every may not be negative"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &Reader{
		cfg: cfg, tool: (&runner{env: cfg.Env, dir: cfg.Dir}).output, managers: managers{every: cfg.Every, seen: map[string]*managed{}},
		flaps: map[string]*flap{}, resting: map[string]resting{}, scanning: make(chan struct{}, 1),
	}, nil
}

// Ports reads all ports, ordered by adapter and number, with who manages their
// fabrics. Warnings are what is wrong with a port and stands in no field of it.
// An error says that it is not known whether there are any.
func (r *Reader) Ports(ctx context.Context) (list []inventory.Port, warnings []string, err error) {
	found, err := r.adapters()
	if err != nil {
		return nil, nil, err
	}
	list = []inventory.Port{}
	now := time.Now()
	flaps := map[string]*flap{}
	for _, a := range found {
		for _, n := range a.ports {
			p, missing := r.port(a, n)
			if missing != nil {
				warnings = append(warnings, fmt.Sprintf("the state of port %s cannot be read: %v", keyOf(&p), missing))
			}
			r.seen(&p, now)
			if f := r.flaps[keyOf(&p)]; f != nil {
				flaps[keyOf(&p)] = f
				warnings = append(warnings, f.warnings(keyOf(&p), now)...)
			}
			list = append(list, p)
		}
	}
	maps.DeleteFunc(r.flaps, func(key string, _ *flap) bool { return flaps[key] == nil }) // adapters that are gone
	r.networks(list)
	r.overIP(list)
	r.manage(ctx, list, now)
	return list, warnings, nil
}

// seen notes whether a port is up, for telling whether it flaps.
func (r *Reader) seen(p *inventory.Port, now time.Time) {
	if p.State == "" {
		return // it did not say
	}
	f := r.flaps[keyOf(p)]
	if f == nil {
		f = &flap{}
		r.flaps[keyOf(p)] = f
	}
	f.see(p.Active, now)
}

// keyOf names a port of this machine.
func keyOf(p *inventory.Port) string { return fmt.Sprintf("%s/%d", p.HCA, p.Port) }

func (r *Reader) sys(name string) string { return filepath.Join(r.cfg.Sys, name) }
