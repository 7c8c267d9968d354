package agent

import (
	"context"
	"fmt"
	"slices"
	"time"

	"llmgw.io/llmgw/agent/fetch"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// adapterChange is the change of a running engine's adapters to those that are
// wanted: one at a time, beside the watch over the engine. It belongs to the
// shard's goroutine.
type adapterChange struct {
	busy bool
	done chan adaptersNow
	// trouble is why the last change did not come about, and tried what it was to
	// come to; again is when it is tried once more.
	trouble string
	tried   []protocol.DesiredFile
	again   time.Time
	pause   time.Duration
}

// adaptersNow is what an engine has loaded after a change, also after one that
// failed on its way.
type adaptersNow struct {
	loaded []protocol.DesiredFile
	err    error
}

func newAdapterChange(pause time.Duration) *adapterChange {
	return &adapterChange{done: make(chan adaptersNow, 1), pause: pause}
}

// begin starts a change where other adapters are wanted than the engine has, and it
// takes them while it runs. One that does not keeps those it was started with.
func (c *adapterChange) begin(ctx context.Context, s *shard, engine Engine, e entry) {
	d, stop, _ := s.wish()
	able, ok := engine.(Adapters)
	if c.busy || stop || !ok {
		return
	}
	if sameAdapters(d.Adapters, e.Shard.Adapters) {
		c.trouble = ""
		return
	}
	if sameAdapters(d.Adapters, c.tried) && time.Now().Before(c.again) {
		return
	}
	c.busy, c.tried = true, d.Adapters
	go func() {
		loaded, err := s.changeAdapters(ctx, able, e, d.Adapters)
		c.done <- adaptersNow{loaded, err}
	}()
}

// end takes the end of a change, and gives the entry as it is then.
func (c *adapterChange) end(s *shard, e entry, now adaptersNow, retryMax time.Duration) entry {
	c.busy, c.trouble = false, ""
	e.Shard.Adapters = now.loaded
	s.keep(func(kept *entry) { kept.Shard.Adapters = now.loaded })
	if now.err == nil {
		c.pause, c.again = s.a.cfg.Times.Retry, time.Time{}
		s.log.Info("adapters changed", "count", len(now.loaded))
		return e
	}
	c.trouble = now.err.Error()
	c.again = time.Now().Add(c.pause)
	c.pause = min(2*c.pause, retryMax)
	s.log.Warn("adapters not changed", "err", now.err)
	return e
}

// changeAdapters takes out what is no longer wanted and loads what is new. It gives
// what is loaded then, in any case. Shards that follow a leader only bring the
// files: the leader's engine has them load them.
func (s *shard) changeAdapters(ctx context.Context, engine Adapters, e entry, want []protocol.DesiredFile) ([]protocol.DesiredFile, error) {
	loaded := slices.Clone(e.Shard.Adapters)
	follows := e.Shard.Rank > 0
	for _, a := range e.Shard.Adapters {
		if hasAdapter(want, a) {
			continue
		}
		if !follows {
			if err := engine.Unload(ctx, endpoint(e), a.Name); err != nil {
				return loaded, err
			}
		}
		loaded = slices.DeleteFunc(loaded, func(o protocol.DesiredFile) bool { return o.Name == a.Name })
	}
	for _, a := range want {
		if hasAdapter(loaded, a) {
			continue
		}
		path, err := s.fetchAdapter(ctx, e.Shard.Engine, a, func(inventory.Fetch, string) {})
		if err != nil {
			return loaded, fmt.Errorf("adapter %s: %w", clip(a.Name), fetchFailure(err))
		}
		if !follows {
			if err := engine.Load(ctx, endpoint(e), protocol.NamedFile{Name: a.Name, Path: path}); err != nil {
				return loaded, err
			}
		}
		loaded = append(loaded, a)
	}
	return loaded, nil
}

// fetchAdapter brings one adapter's files, and gives the path of the first.
func (s *shard) fetchAdapter(ctx context.Context, engine catalog.Engine, a protocol.DesiredFile, told func(inventory.Fetch, string)) (string, error) {
	set, err := fetch.Adapter(a, engine)
	if err != nil {
		return "", err
	}
	paths, err := s.a.fetcher.Get(ctx, set, told)
	if err != nil {
		return "", err
	}
	return paths[0], nil
}

// loadedAdapters are the names of what an engine has loaded. Nil: none is wanted
// and none is there.
func loadedAdapters(e entry, want []protocol.DesiredFile) []string {
	if len(e.Shard.Adapters)+len(want) == 0 {
		return nil
	}
	names := []string{}
	for _, a := range e.Shard.Adapters {
		names = append(names, a.Name)
	}
	return names
}

func hasAdapter(list []protocol.DesiredFile, a protocol.DesiredFile) bool {
	return slices.ContainsFunc(list, func(o protocol.DesiredFile) bool { return sameAdapter(o, a) })
}

// sameAdapter reports whether two are one adapter from one place.
func sameAdapter(a, b protocol.DesiredFile) bool {
	return a.Name == b.Name && a.SHA256 == b.SHA256 && slices.Equal(a.From, b.From)
}

// sameAdapters reports whether two lists hold the same adapters. Their order is
// that of a start, and says nothing to an engine that runs.
func sameAdapters(a, b []protocol.DesiredFile) bool {
	if len(a) != len(b) {
		return false
	}
	for _, x := range a {
		if !hasAdapter(b, x) {
			return false
		}
	}
	return true
}
