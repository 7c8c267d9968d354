package survey

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/fabrics"
)

// Fleet is the newest look at nodes. It never blocks, and its answer is read
// only.
type Fleet interface {
	Snapshot() *inventory.Snapshot
}

// Asker has a node's agent walk the fabric of one of its ports. It blocks until
// there is an answer, at most for the time of a scan and what goes with it, and
// may be called at once. Its errors are shown to people and hold nothing secret.
type Asker interface {
	Scan(ctx context.Context, node inventory.NodeID, args protocol.ScanArgs) (protocol.ScanResult, error)
}

// Config is what a Survey needs.
type Config struct {
	// Fleet and Asker are required.
	Fleet Fleet
	Asker Asker
	// Leads says whether this process may have a fabric walked of its own accord.
	// Nil: it may.
	Leads func() bool
	// Every is how often it looks. Default 5 s.
	Every time.Duration
	// Apart is how far walks of one fabric that nobody ordered are apart. Default
	// 5 min.
	Apart time.Duration
	// Fresh is how old a map may be to answer another order. Default 30 s.
	Fresh time.Duration
	// Logger nil is silent.
	Logger *slog.Logger
}

func (cfg Config) withDefaults() (Config, error) {
	var all []error
	if cfg.Fleet == nil {
		all = append(all, errors.New("survey: Config.Fleet is missing: give it the registry"))
	}
	if cfg.Asker == nil {
		all = append(all, errors.New("survey: Config.Asker is missing: give it the hub"))
	}
	if cfg.Leads == nil {
		cfg.Leads = func() bool { return true }
	}
	span := func(at *time.Duration, def time.Duration) {
		if *at == 0 {
			*at = def
		}
	}
	span(&cfg.Every, 5*time.Second)
	span(&cfg.Apart, 5*time.Minute)
	span(&cfg.Fresh, 30*time.Second)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return cfg, errors.Join(all...)
}

// Survey keeps watch over networks.
type Survey struct {
	cfg    Config
	memory atomic.Pointer[fabrics.Memory]

	mu sync.Mutex
	// scans are the newest of each network, by its key.
	scans map[string]fabrics.Scan
	// turns let one walk of a network at a time through.
	turns map[string]chan struct{}
	// due are networks to be walked, begun when the last such walk began.
	due   map[string]bool
	begun map[string]time.Time
}

// New checks the configuration. It starts nothing: see Run.
func New(cfg Config) (*Survey, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Survey{cfg: cfg, scans: map[string]fabrics.Scan{}, turns: map[string]chan struct{}{}, due: map[string]bool{}, begun: map[string]time.Time{}}
	s.memory.Store(&fabrics.Memory{})
	return s, nil
}

// Run looks until ctx ends, and waits for walks that are under way.
func (s *Survey) Run(ctx context.Context) error {
	t := time.NewTicker(s.cfg.Every)
	defer t.Stop()
	var walks sync.WaitGroup
	defer walks.Wait()
	for {
		s.look(time.Now())
		for _, key := range s.ready(time.Now()) {
			walks.Go(func() {
				if _, err := s.Scan(ctx, key); err != nil && ctx.Err() == nil {
					s.cfg.Logger.Warn("a network could not be walked after its subnet manager changed", "network", key, "err", err)
				}
			})
		}
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
	}
}

// Memory is what was remembered at the newest look. It never blocks.
func (s *Survey) Memory() fabrics.Memory { return *s.memory.Load() }

// look takes a look, and notes which networks have another manager.
func (s *Survey) look(now time.Time) {
	was := s.Memory()
	is := fabrics.Watch(was, s.cfg.Fleet.Snapshot().Nodes(), now)
	s.memory.Store(&is)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range news(was.Changes(), is.Changes()) {
		s.cfg.Logger.Warn("another subnet manager took over", "network", c.Key, "from", c.From, "to", c.To)
		s.moveTo(c)
		s.due[c.Key] = true
	}
}

// news are the changes that were not there before, the oldest first.
func news(was, is []fabrics.Change) []fabrics.Change {
	var out []fabrics.Change
	for _, c := range is {
		if len(was) > 0 && c.From == was[0].From && c.To == was[0].To && c.At.Equal(was[0].At) {
			break
		}
		out = append([]fabrics.Change{c}, out...)
	}
	return out
}

// moveTo keeps what is known of a network under the key that it has now.
func (s *Survey) moveTo(c fabrics.Change) {
	old := inventory.KeySM + c.From
	if old == c.Key {
		return // it has this key again
	}
	if scan, ok := s.scans[old]; ok {
		s.scans[c.Key] = scan
		delete(s.scans, old)
	}
	if at, ok := s.begun[old]; ok {
		s.begun[c.Key] = at
		delete(s.begun, old)
	}
	delete(s.due, old)
}

// ready are the networks whose walk is due and may begin. One that was walked a
// short while ago waits.
func (s *Survey) ready(now time.Time) []string {
	if !s.cfg.Leads() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for key := range s.due {
		if at, ok := s.begun[key]; !ok || now.Sub(at) >= s.cfg.Apart {
			s.begun[key] = now
			delete(s.due, key)
			out = append(out, key)
		}
	}
	return out
}
