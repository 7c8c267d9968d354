package agenttest

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"llmgw.io/llmgw/agent"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// NodeConfig is how a Node in memory behaves.
type NodeConfig struct {
	// ID is the node's. Required.
	ID inventory.NodeID
	// Control is the control plane; for one in this process, Direct(hub, ID).
	// Required.
	Control agent.Control
	// Facts are what it says of itself. Nil: DefaultFacts.
	Facts *inventory.Facts
	// Start brings a shard up: it returns the address where it serves and what
	// to call when it is stopped, which may be nil. An error makes the shard
	// fail with its text; an error that is a *Failure also says the cause. It
	// may block until ctx ends, which it does when the shard is to stop; the
	// shard is starting meanwhile. Nil: ready at once, at 127.0.0.1:9.
	Start func(ctx context.Context, s protocol.DesiredShard) (address string, stop func(), err error)
	// Log is what an ask for a log is answered with. Empty: a line that says
	// so.
	Log string
}

// Failure is an error of NodeConfig.Start with a cause.
type Failure protocol.Failure

// Error is the sentence.
func (f *Failure) Error() string { return f.Text }

// Node plays an agent in memory. Run it; then what the hub desires of it becomes
// true, as Start says.
type Node struct {
	cfg  NodeConfig
	news chan struct{}

	mu     sync.Mutex
	shards map[string]*memShard
	silent bool
	sample inventory.Sample
	run    string
	rev    uint64
}

// memShard is one shard of a Node.
type memShard struct {
	want   protocol.DesiredShard
	status inventory.ShardStatus
	cancel context.CancelFunc
	stop   func()
}

// NewNode makes a node. It does nothing before Run.
func NewNode(cfg NodeConfig) *Node {
	if cfg.Facts == nil {
		f := DefaultFacts()
		f.Hostname = string(cfg.ID)
		cfg.Facts = &f
	}
	if cfg.Start == nil {
		cfg.Start = func(context.Context, protocol.DesiredShard) (string, func(), error) { return "127.0.0.1:9", nil, nil }
	}
	return &Node{cfg: cfg, news: make(chan struct{}, 1), run: rand.Text(), shards: map[string]*memShard{}}
}

// Run beats and polls until ctx ends, and returns nil then. What runs is
// stopped with it: it is in memory, and nobody is left to adopt it.
func (n *Node) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer n.stopAll()
	wg.Go(func() { n.beatLoop(ctx) })
	wg.Go(func() { n.syncLoop(ctx, &wg) })
	wg.Wait()
	return nil
}

// Silence makes the node stop calling, as if its network were cut; what runs
// goes on. False lets it call again.
func (n *Node) Silence(on bool) {
	n.mu.Lock()
	n.silent = on
	n.mu.Unlock()
	n.notify()
}

// Fail makes a shard that runs fail, as if its engine had died.
func (n *Node) Fail(shard string, f Failure) {
	n.mu.Lock()
	s := n.shards[shard]
	if s != nil {
		s.end()
		s.set(inventory.ShardStatus{State: inventory.ShardFailed, Error: f.Text, Cause: string(f.Cause)})
	}
	n.mu.Unlock()
	n.notify()
}

// Measure sets what the node measures, for its next beats.
func (n *Node) Measure(s inventory.Sample) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sample = s
}

// Shards is what the node says of its shards, ordered by id.
func (n *Node) Shards() []inventory.ShardStatus {
	list, _ := n.list()
	return list
}

// list is the shards with the list's place in the order of lists.
func (n *Node) list() ([]inventory.ShardStatus, uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rev++
	out := []inventory.ShardStatus{}
	for _, s := range n.shards {
		out = append(out, s.status)
	}
	slices.SortFunc(out, func(a, b inventory.ShardStatus) int { return cmp.Compare(a.ID, b.ID) })
	return out, n.rev
}

func (n *Node) notify() {
	select {
	case n.news <- struct{}{}:
	default:
	}
}

func (n *Node) beatLoop(ctx context.Context) {
	t := time.NewTicker(protocol.BeatEvery)
	defer t.Stop()
	for seq := uint64(1); ctx.Err() == nil; seq++ {
		n.mu.Lock()
		silent, sample := n.silent, n.sample
		n.mu.Unlock()
		if !silent {
			// An error is silence, which the control plane knows how to take.
			list, rev := n.list()
			_, _ = n.cfg.Control.Beat(ctx, protocol.Beat{
				Node: string(n.cfg.ID), Seq: seq, Run: n.run, Rev: rev, At: time.Now(),
				FactsHash: protocol.Hash(*n.cfg.Facts), Shards: list, Sample: &sample,
			})
		}
		select {
		case <-ctx.Done():
		case <-t.C:
		case <-n.news:
		}
	}
}

func (n *Node) syncLoop(ctx context.Context, wg *sync.WaitGroup) {
	var have protocol.Desired
	for ctx.Err() == nil {
		n.mu.Lock()
		silent := n.silent
		n.mu.Unlock()
		err := errSilent
		if !silent {
			have, err = n.poll(ctx, have, wg)
		}
		if err != nil {
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}
}

var errSilent = errors.New("agenttest: the node is silent")

func (n *Node) poll(ctx context.Context, have protocol.Desired, wg *sync.WaitGroup) (protocol.Desired, error) {
	list, rev := n.list()
	d, err := n.cfg.Control.Sync(ctx, protocol.Sync{
		Node: string(n.cfg.ID), Run: n.run, Rev: rev, Version: have.Version, Epoch: have.Epoch,
		Facts: n.cfg.Facts, FactsHash: protocol.Hash(*n.cfg.Facts), Shards: list,
	})
	if err != nil {
		return have, err
	}
	if d.Epoch < have.Epoch {
		return have, errors.New("agenttest: an earlier leader answers")
	}
	for _, a := range d.Asks {
		wg.Go(func() { n.answer(ctx, a) })
	}
	n.direct(ctx, d, wg)
	return d, nil
}

func (n *Node) answer(ctx context.Context, a protocol.Ask) {
	if a.Kind != protocol.AskLogs {
		_ = n.cfg.Control.Answer(ctx, protocol.Answer{ID: a.ID, Error: "this node only knows logs"}, nil)
		return
	}
	log := n.cfg.Log
	if log == "" {
		log = "this node runs in memory and keeps no log\n"
	}
	_ = n.cfg.Control.Answer(ctx, protocol.Answer{ID: a.ID, OK: true}, strings.NewReader(log))
}

// direct makes what is desired true.
func (n *Node) direct(ctx context.Context, d protocol.Desired, wg *sync.WaitGroup) {
	n.mu.Lock()
	defer n.mu.Unlock()
	defer n.notify()
	wanted := map[string]bool{}
	for _, w := range d.Shards {
		wanted[w.Shard] = true
		s := n.shards[w.Shard]
		if s == nil {
			s = &memShard{want: w}
			s.set(inventory.ShardStatus{State: inventory.ShardPending})
			n.shards[w.Shard] = s
		}
		s.want = w
		switch {
		case w.Want == protocol.WantStop:
			s.end()
			s.set(inventory.ShardStatus{State: inventory.ShardStopped})
		case w.Want == protocol.WantDrain && s.status.State == inventory.ShardReady:
			s.set(inventory.ShardStatus{State: inventory.ShardDraining, Address: s.status.Address})
		case s.status.State == inventory.ShardPending:
			s.set(inventory.ShardStatus{State: inventory.ShardStarting})
			sctx, cancel := context.WithCancel(ctx)
			s.cancel = cancel
			wg.Go(func() { n.start(sctx, w) })
		}
	}
	for id, s := range n.shards {
		if !wanted[id] {
			s.end()
			delete(n.shards, id)
		}
	}
}

func (n *Node) start(ctx context.Context, w protocol.DesiredShard) {
	address, stop, err := n.cfg.Start(ctx, w)
	n.mu.Lock()
	defer n.mu.Unlock()
	defer n.notify()
	s := n.shards[w.Shard]
	if s == nil || ctx.Err() != nil || s.status.State != inventory.ShardStarting {
		if stop != nil {
			stop()
		}
		return
	}
	if err != nil {
		st := inventory.ShardStatus{State: inventory.ShardFailed, Error: err.Error(), Cause: string(protocol.CauseUnknown), Starts: 1}
		var f *Failure
		if errors.As(err, &f) {
			st.Cause = string(f.Cause)
		}
		s.set(st)
		return
	}
	s.stop = stop
	state := inventory.ShardReady
	if s.want.Want == protocol.WantDrain {
		state = inventory.ShardDraining
	}
	s.set(inventory.ShardStatus{State: state, Address: address, Starts: 1})
}

func (n *Node) stopAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.shards {
		s.end()
	}
}

// set replaces the status but for what does not change.
func (s *memShard) set(st inventory.ShardStatus) {
	st.ID, st.Model, st.Profile = s.want.Shard, string(s.want.Model), s.want.Profile
	st.Since = s.status.Since
	if st.State != s.status.State {
		st.Since = time.Now()
	}
	s.status = st
}

// end stops what was started; harmless when nothing was.
func (s *memShard) end() {
	if s.cancel != nil {
		s.cancel()
	}
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
}
