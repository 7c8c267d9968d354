package agent

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"llmgw.io/llmgw/agent/fetch"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// prefetchAgain is how often what was fetched ahead is looked at again: somebody may
// have removed it.
const prefetchAgain = time.Hour

// prefetches is what is to be here though no shard needs it, and how far it is.
type prefetches struct {
	wake chan struct{} // has room for one
	turn chan struct{} // has room for one: they are fetched one after the other

	mu    sync.Mutex
	want  map[string]protocol.DesiredFetch
	state map[string]inventory.Prefetched
}

func newPrefetches() *prefetches {
	return &prefetches{wake: make(chan struct{}, 1), turn: make(chan struct{}, 1), state: map[string]inventory.Prefetched{}}
}

// order says what is wanted now.
func (p *prefetches) order(list []protocol.DesiredFetch) {
	want := map[string]protocol.DesiredFetch{}
	for _, f := range list {
		if b, err := json.Marshal(f); err == nil {
			want[string(b)] = f
		}
	}
	p.mu.Lock()
	p.want = want
	p.mu.Unlock()
	notify(p.wake)
}

// status is what the facts say of it, by model. Nil: nothing is wanted.
func (p *prefetches) status() []inventory.Prefetched {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []inventory.Prefetched
	for _, key := range slices.Sorted(maps.Keys(p.state)) {
		out = append(out, p.state[key])
	}
	slices.SortStableFunc(out, func(a, b inventory.Prefetched) int { return strings.Compare(a.Model, b.Model) })
	return out
}

// say notes how far one is, and reports whether that is new. One that is no longer
// wanted is not spoken of.
func (p *prefetches) say(ctx context.Context, key string, s inventory.Prefetched) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	old, had := p.state[key]
	same := had && old.State == s.State && old.Error == s.Error && (old.Percent == nil) == (s.Percent == nil) && (s.Percent == nil || *old.Percent == *s.Percent)
	if ctx.Err() != nil || same {
		return false
	}
	p.state[key] = s
	return true
}

// change begins what is wanted and ends what is not.
func (p *prefetches) change(running map[string]context.CancelFunc, begin func(key string, f protocol.DesiredFetch) context.CancelFunc) (gone bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, cancel := range running {
		if _, still := p.want[key]; !still {
			cancel()
			delete(running, key)
			delete(p.state, key)
			gone = true
		}
	}
	for key, f := range p.want {
		if running[key] == nil {
			running[key] = begin(key, f)
		}
	}
	return gone
}

// prefetchLoop has what is wanted here fetched, until ctx ends.
func (a *Agent) prefetchLoop(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	running := map[string]context.CancelFunc{}
	for ctx.Err() == nil {
		gone := a.prefetches.change(running, func(key string, f protocol.DesiredFetch) context.CancelFunc {
			ctx, cancel := context.WithCancel(ctx)
			all.Go(func() { a.prefetch(ctx, key, f) })
			return cancel
		})
		if gone {
			a.Look()
		}
		select {
		case <-ctx.Done():
		case <-a.prefetches.wake:
		}
	}
	for _, cancel := range running {
		cancel()
	}
}

// prefetch keeps one model's weights here, for as long as they are wanted.
func (a *Agent) prefetch(ctx context.Context, key string, f protocol.DesiredFetch) {
	source, _, _ := strings.Cut(f.Source, "?")
	source, _, _ = strings.Cut(source, "#")
	say := func(s inventory.Prefetched) {
		s.Model, s.Source = string(f.Model), source
		if a.prefetches.say(ctx, key, s) {
			a.Look()
		}
	}
	say(inventory.Prefetched{State: inventory.PrefetchWaiting})
	for pause := a.cfg.Times.Retry; ctx.Err() == nil; {
		wait := prefetchAgain
		switch err := a.bringAhead(ctx, f, say); {
		case ctx.Err() != nil:
			return
		case err == nil:
			pause = a.cfg.Times.Retry
			say(inventory.Prefetched{State: inventory.PrefetchReady})
		default:
			wait, pause = pause, min(2*pause, a.cfg.Times.RetryMax)
			var e *fetch.Error
			if errors.As(err, &e) && e.Later {
				wait = a.cfg.Times.DiskRetry
			}
			a.cfg.Logger.Warn("weights cannot be fetched ahead", "model", f.Model, "err", err)
			say(inventory.Prefetched{State: inventory.PrefetchFailed, Error: err.Error()})
		}
		select {
		case <-ctx.Done():
		case <-time.After(jitter(wait)):
		}
	}
}

// bringAhead fetches one model's weights and adapters, when it is its turn.
func (a *Agent) bringAhead(ctx context.Context, f protocol.DesiredFetch, say func(inventory.Prefetched)) error {
	sets, err := fetch.Sets(shardFor(f))
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case a.prefetches.turn <- struct{}{}:
	}
	defer func() { <-a.prefetches.turn }()
	for _, set := range sets {
		_, err := a.fetcher.Get(ctx, set, func(p inventory.Fetch, trouble string) {
			s := inventory.Prefetched{State: inventory.PrefetchFetching, Error: trouble}
			if p.BytesTotal > 0 {
				n := int(p.BytesDone*10/p.BytesTotal) * 10 // each step is a fact that is sent
				s.Percent = &n
			}
			if trouble != "" || p.BytesDone > 0 {
				say(s)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// shardFor is a shard that would need what is fetched ahead.
func shardFor(f protocol.DesiredFetch) protocol.DesiredShard {
	return protocol.DesiredShard{Engine: f.Engine, Source: f.Source, Files: f.Files, Adapters: f.Adapters}
}
