package agent

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// factsBox keeps the newest facts and what of them was sent.
type factsBox struct {
	// probing has room for one: questions reach the Prober one at a time, and
	// nobody waits for one that hangs longer than his own context.
	probing chan struct{}
	// first is closed once there are facts.
	first chan struct{}
	// poll has room for one: a poll in flight should be given up for one with
	// facts. look has too: facts should be found again.
	poll, look chan struct{}

	mu     sync.Mutex
	facts  *inventory.Facts
	hash   string
	sent   string
	sentAt time.Time
	wanted bool
}

func newFactsBox() *factsBox {
	return &factsBox{probing: make(chan struct{}, 1), first: make(chan struct{}), poll: make(chan struct{}, 1), look: make(chan struct{}, 1)}
}

// diskStep is how far free space may move before it is a fact that changed;
// else every log line would make new facts.
const diskStep = 1024

// put takes facts and asks for a poll when they are others than were sent.
func (b *factsBox) put(f inventory.Facts) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if old := b.facts; old != nil {
		if moved := f.DiskFreeMB - old.DiskFreeMB; moved > -diskStep && moved < diskStep && (f.DiskFreeMB == 0) == (old.DiskFreeMB == 0) {
			f.DiskFreeMB = old.DiskFreeMB
		}
		f.Disks = steady(f.Disks, old.Disks)
	} else {
		defer close(b.first)
	}
	b.facts, b.hash = &f, protocol.Hash(f)
	if b.hash != b.sent {
		notify(b.poll)
	}
}

// steady gives each disk that is as it was, but for a little of its room, the room
// it had: a step or a hundredth of it, since others fill shared ones, too.
func steady(now, old []inventory.Disk) []inventory.Disk {
	out := slices.Clone(now)
	for i := range out {
		d := &out[i]
		at := slices.IndexFunc(old, func(o inventory.Disk) bool { return o.Mount == d.Mount })
		if at < 0 {
			continue
		}
		like := old[at]
		moved := max(d.FreeMB-like.FreeMB, like.FreeMB-d.FreeMB)
		if like.FreeMB = d.FreeMB; like == *d && moved < max(diskStep, d.TotalMB/100) && (d.FreeMB == 0) == (old[at].FreeMB == 0) {
			d.FreeMB = old[at].FreeMB
		}
	}
	return out
}

// want asks for facts with the next poll, at once.
func (b *factsBox) want() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wanted = true
	notify(b.poll)
}

// due gives the facts to send with a poll, or nil, and their hash. The hash is
// empty before there are any.
func (b *factsBox) due(every time.Duration, now time.Time) (*inventory.Facts, string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.facts == nil || b.hash == b.sent && !b.wanted && now.Sub(b.sentAt) < every {
		return nil, b.hash
	}
	return b.facts, b.hash
}

// took notes that facts with this hash have arrived.
func (b *factsBox) took(hash string, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent, b.sentAt, b.wanted = hash, now, false
}

// current are the newest facts; zero before there are any.
func (b *factsBox) current() (inventory.Facts, string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.facts == nil {
		return inventory.Facts{}, ""
	}
	return *b.facts, b.hash
}

// Look asks for facts to be found anew, soon: something was installed or taken
// away. It does not block, and may be called at any time.
func (a *Agent) Look() { notify(a.facts.look) }

func (a *Agent) factsLoop(ctx context.Context) {
	t := time.NewTicker(a.cfg.Times.Facts)
	defer t.Stop()
	for {
		f := a.probe(ctx)
		if ctx.Err() != nil {
			return
		}
		a.facts.put(f)
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		case <-a.facts.look:
		}
	}
}

// begin waits for the Prober to be free. False: ctx has ended.
func (b *factsBox) begin(ctx context.Context) bool {
	select {
	case b.probing <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (b *factsBox) end() { <-b.probing }

// probe asks the Prober and the engines, and adds what the agent itself knows.
func (a *Agent) probe(ctx context.Context) inventory.Facts {
	if !a.facts.begin(ctx) {
		return inventory.Facts{}
	}
	defer a.facts.end()
	f := a.cfg.Prober.Facts(ctx)
	f.Weights = a.describe(f.Weights)
	f.Prefetch = a.prefetches.status()
	f.AgentVersion, f.Features, f.EngineAccess = a.cfg.Version, a.features(), a.cfg.EngineAccess
	f.Warnings = slices.Concat(f.Warnings, a.apart.lacks)
	if a.cfg.MgmtAddr != "" {
		f.MgmtAddr = a.cfg.MgmtAddr
	}
	if p := a.cfg.Provisioner; p != nil {
		p.Found(f)
		f.Provision = p.Status()
	}
	if u := a.cfg.Upgrader; u != nil {
		f.Upgrade = u.Status()
	}
	if len(a.cfg.Labels) > 0 {
		labels := maps.Clone(a.cfg.Labels)
		for k, v := range f.Labels {
			if _, ours := labels[k]; !ours {
				labels[k] = v
			}
		}
		f.Labels = labels
	}
	if f.Engines == nil {
		f.Engines = []inventory.Engine{}
		for _, e := range a.cfg.Engines {
			f.Engines = append(f.Engines, e.Installed(ctx)...)
		}
	}
	for _, e := range a.cfg.Engines {
		for _, p := range a.provisioned(e.Name()) {
			if !slices.Contains(f.Engines, p.Build) {
				f.Engines = append(f.Engines, p.Build)
			}
		}
	}
	return f
}

// sample measures, never at once with probe.
func (a *Agent) sample(ctx context.Context) inventory.Sample {
	if !a.facts.begin(ctx) {
		return inventory.Sample{}
	}
	defer a.facts.end()
	return a.cfg.Prober.Sample(ctx)
}

// mgmtAddr is this machine's address for routers. It waits for the first facts
// where the configuration does not say.
func (a *Agent) mgmtAddr(ctx context.Context) string {
	if a.cfg.MgmtAddr != "" {
		return a.cfg.MgmtAddr
	}
	select {
	case <-ctx.Done():
	case <-a.facts.first:
	}
	if f, _ := a.facts.current(); f.MgmtAddr != "" {
		return f.MgmtAddr
	}
	return "127.0.0.1"
}
