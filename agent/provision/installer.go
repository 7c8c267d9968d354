package provision

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"llmgw.io/llmgw/agent/fetch"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// Installer makes the wanted builds of a node true, one after the other. [New]
// makes one.
type Installer struct {
	cfg  Config
	wake chan struct{}
	// own fetches where nobody gave another: what it leaves is ours to remove.
	own *fetch.Fetcher

	mu sync.Mutex
	// wanted are choices by engine; nil until somebody said.
	wanted map[string]string
	facts  inventory.Facts
	tries  map[string]try
	state  map[string]inventory.EngineInstall
	have   map[string]record
}

// try is what is known of the last one for an engine.
type try struct {
	choice string
	// of is what the choice depends on; another one is tried at once.
	of string
	// next is when a failed one is tried again; zero when it is done.
	next  time.Time
	pause time.Duration
}

// New checks the configuration and reads what is installed.
func New(cfg Config) (*Installer, error) {
	cfg = cfg.withDefaults()
	err := cfg.check()
	var own *fetch.Fetcher
	if cfg.Fetch == nil {
		f, ferr := fetch.New(fetch.Config{Dir: filepath.Join(cfg.Dir, ".fetch"), Reach: cfg.Reach, Logger: cfg.Logger})
		cfg.Fetch, err, own = f, errors.Join(err, ferr), f
	}
	if err != nil {
		return nil, err
	}
	in := &Installer{cfg: cfg, own: own, wake: make(chan struct{}, 1), tries: map[string]try{}, state: map[string]inventory.EngineInstall{}, have: map[string]record{}}
	for engine := range inventory.KnownBuilds() {
		rec, err := readRecord(filepath.Join(cfg.Dir, engine))
		if err != nil {
			cfg.Logger.Error("installed engines are not known", "engine", engine, "err", err)
			continue
		}
		in.have[engine] = rec
	}
	return in, nil
}

// Want says which builds are wanted, by engine: auto, none or a build. It does
// not block.
func (in *Installer) Want(choices map[string]string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.wanted != nil && maps.Equal(in.wanted, choices) {
		return
	}
	in.wanted = maps.Clone(choices)
	if in.wanted == nil {
		in.wanted = map[string]string{}
	}
	for engine := range in.state {
		if in.wanted[engine] == "" {
			delete(in.state, engine)
		}
	}
	in.rouse()
}

// Found says what the node is, which decides what auto means. It does not block.
func (in *Installer) Found(f inventory.Facts) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if basis(&in.facts) != basis(&f) {
		in.facts = f
		in.rouse()
	}
}

// basis is what a choice depends on.
func basis(f *inventory.Facts) string {
	s := fmt.Sprint(f.Arch, f.CUDA, f.CPUFlags)
	for _, d := range f.Devices {
		s += "," + d.ComputeCapability
	}
	return s
}

func (in *Installer) rouse() {
	select {
	case in.wake <- struct{}{}:
	default:
	}
}

// sweepAfter is how long what is left of a fetch is kept: long enough for the next
// try to go on with it.
const sweepAfter = 24 * time.Hour

// Run installs until ctx ends.
func (in *Installer) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-in.wake:
		case <-timer.C:
		}
		wait := in.pass(ctx)
		if in.own != nil && ctx.Err() == nil {
			in.own.Sweep(sweepAfter)
		}
		timer.Reset(wait)
	}
}

// pass looks at each wanted engine once, and says how long nothing is to do.
func (in *Installer) pass(ctx context.Context) time.Duration {
	in.mu.Lock()
	wanted, facts := maps.Clone(in.wanted), in.facts
	in.mu.Unlock()
	if facts.Arch == "" {
		return time.Hour // nothing is known yet; Found wakes
	}
	wait := time.Hour
	for _, engine := range slices.Sorted(maps.Keys(wanted)) {
		if ctx.Err() != nil {
			return wait
		}
		if d := in.one(ctx, engine, wanted[engine], facts); d > 0 {
			wait = min(wait, d)
		}
	}
	return wait
}

// one brings one engine on. Where nothing can be installed, a choice that nobody
// made is no failure. It says when the engine wants to be looked at again. Zero:
// when something changes.
func (in *Installer) one(ctx context.Context, engine, choice string, facts inventory.Facts) time.Duration {
	in.mu.Lock()
	t := in.tries[engine]
	in.mu.Unlock()
	of := basis(&facts)
	fresh := t.choice != choice || t.of != of
	switch {
	case choice == inventory.BuildNone || choice == inventory.BuildAuto && in.cfg.Mirror == "":
		in.done(engine)
		return 0
	case !fresh && t.next.IsZero():
		return 0
	case !fresh && time.Until(t.next) > 0:
		return time.Until(t.next)
	case fresh:
		t = try{choice: choice, of: of}
	}
	err := (&job{in: in, engine: engine, choice: choice, facts: facts}).run(ctx)
	if ctx.Err() != nil {
		return 0
	}
	if t.next = (time.Time{}); err != nil {
		t.pause = min(max(2*t.pause, in.cfg.Retry), time.Hour)
		t.next = time.Now().Add(t.pause)
		in.failed(engine, err)
	} else {
		in.done(engine)
	}
	in.mu.Lock()
	in.tries[engine] = t
	in.mu.Unlock()
	if err != nil {
		return t.pause
	}
	return 0
}

// say shows how far an engine is. Only what differs is a change.
func (in *Installer) say(engine string, e inventory.EngineInstall) {
	in.mu.Lock()
	e.Engine = engine
	old, had := in.state[engine]
	e.Since = time.Now().UTC().Truncate(time.Second)
	if had && old.State == e.State {
		e.Since = old.Since
	}
	same := had && reflect.DeepEqual(old, e)
	if in.wanted[engine] != "" {
		in.state[engine] = e
	}
	in.mu.Unlock()
	if !same {
		in.cfg.Changed()
	}
}

func (in *Installer) failed(engine string, err error) {
	in.mu.Lock()
	old := in.state[engine]
	in.mu.Unlock()
	in.cfg.Logger.Warn("an engine cannot be installed", "engine", engine, "err", err)
	in.say(engine, inventory.EngineInstall{Build: old.Build, Version: old.Version, State: inventory.InstallFailed, Error: err.Error()})
}

// done drops the word about an engine that is ready: it stands among the
// installed ones.
func (in *Installer) done(engine string) {
	in.mu.Lock()
	_, had := in.state[engine]
	delete(in.state, engine)
	in.mu.Unlock()
	if had {
		in.cfg.Changed()
	}
}

// took makes a record the one that new shards start with.
func (in *Installer) took(engine string, rec record) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.have[engine] = rec
}

// Status lists what is wanted, under way or failed, ordered by engine. It is
// never nil.
func (in *Installer) Status() []inventory.EngineInstall {
	in.mu.Lock()
	defer in.mu.Unlock()
	out := slices.Collect(maps.Values(in.state))
	slices.SortFunc(out, func(a, b inventory.EngineInstall) int { return cmp.Compare(a.Engine, b.Engine) })
	if out == nil {
		out = []inventory.EngineInstall{}
	}
	return out
}

// Programs lists the proved builds of an engine, the one for new shards first. A
// build whose program is gone is left out.
func (in *Installer) Programs(engine string) []protocol.Program {
	in.mu.Lock()
	defer in.mu.Unlock()
	var out []protocol.Program
	for _, p := range in.have[engine].Programs {
		if _, err := os.Stat(p.Path); err == nil {
			out = append(out, protocol.Program{Build: inventory.Engine{Name: p.Engine, Build: p.Build, Version: p.Version}, Path: p.Path})
		}
	}
	return out
}
