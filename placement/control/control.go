package control

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/placement"
	"llmgw.io/llmgw/placement/reconciler"
	"llmgw.io/llmgw/storage"
)

// Config is what a Loop needs.
type Config struct {
	Catalog     Catalog     // required
	Fleet       Fleet       // required
	Dispatcher  Dispatcher  // required
	Assignments Assignments // required
	// Traffic nil means that no router says anything: nothing is idle.
	Traffic Traffic
	Events  Events
	// Journal keeps why each decision was made, beside the loop, which never waits
	// for it. Nil: nothing is kept.
	Journal storage.Journal
	Placer  placement.Placer
	// Floor is how many replicas of a model no higher class may take; it must be
	// a pure function. Nil: as reconciler.CriticalMinimum says.
	Floor func(m *catalog.Model) int
	// Moves is how many percent of the replicas may be moved elsewhere in an hour,
	// to make room for what is refused. Zero: none.
	Moves float64
	// Holder is the name under which the lease is held. Required.
	Holder string
	// Logger nil is silent.
	Logger *slog.Logger
}

// Loop is the control loop.
type Loop struct {
	cfg        Config
	log        *slog.Logger
	reconciler reconciler.Reconciler
	wakes      chan struct{}
	view       atomic.Pointer[reconciler.View]

	// asking guards asked, which is what is known to those who only ask.
	asking sync.Mutex
	asked  *reconciler.Cache

	mu      sync.Mutex
	changed chan struct{}
	leading bool
	orders  []*order // that wait, oldest first
	// taken are those that the newest pass looks at. Only passes write it, and
	// setLeading between two reigns.
	taken []*order
}

// New checks the configuration.
func New(cfg Config) (*Loop, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	l := &Loop{
		cfg: cfg, log: cfg.Logger, reconciler: reconciler.Reconciler{Placer: cfg.Placer, Floor: cfg.Floor, Moves: cfg.Moves},
		wakes: make(chan struct{}, 1), changed: make(chan struct{}),
	}
	l.view.Store(&reconciler.View{At: now(), Catalog: cfg.Catalog.Index(), Fleet: cfg.Fleet.Snapshot()})
	return l, nil
}

func (cfg Config) check() error {
	var bad []error
	missing := func(is bool, what string) {
		if is {
			bad = append(bad, errors.New("control: Config."+what))
		}
	}
	missing(cfg.Catalog == nil, "Catalog is missing: give it what should be served")
	missing(cfg.Fleet == nil, "Fleet is missing: give it the inventory")
	missing(cfg.Dispatcher == nil, "Dispatcher is missing: give it what delivers to the agents")
	missing(cfg.Assignments == nil, "Assignments is missing: give it where what was ordered is kept")
	if !(cfg.Moves >= 0 && cfg.Moves <= 100) {
		bad = append(bad, fmt.Errorf("control: Config.Moves is %g: give it a percentage, or zero for none", cfg.Moves))
	}
	missing(cfg.Holder == "", "Holder is missing: give it a name that no other process of the cluster has")
	return errors.Join(bad...)
}

// Wake makes the loop look again soon. It never blocks.
func (l *Loop) Wake() {
	select {
	case l.wakes <- struct{}{}:
	default:
	}
}

// View is the newest look at the cluster; never nil, it never blocks. Before
// this process has led for the first time it shows no replicas.
func (l *Loop) View() *reconciler.View { return l.view.Load() }

// Changed returns a channel that is closed when a newer View is there. Take it
// before the view.
func (l *Loop) Changed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

// publish makes v the newest view.
func (l *Loop) publish(v *reconciler.View) {
	l.view.Store(v)
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.changed)
	l.changed = make(chan struct{})
}

// now is the wall clock to the microsecond: what any store keeps whole, so that
// a time which was kept compares equal to itself.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
