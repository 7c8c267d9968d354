package discovery

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// guard runs what may hang for ever, as a file system whose server is gone does:
// the caller goes on after a while, and there is never a second one beside one
// that hangs.
type guard struct {
	mu   sync.Mutex
	busy map[string]bool
}

// patience is how long something may take before it counts as hanging.
const patience = 20 * time.Second

// guarded runs f under a name. What f gives after its time is dropped.
func guarded[T any](ctx context.Context, g *guard, name string, f func(context.Context) (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	var none T
	g.mu.Lock()
	if g.busy[name] {
		g.mu.Unlock()
		return none, fmt.Errorf("%s has not answered since it was last asked; look whether its server is there", name)
	}
	if g.busy == nil {
		g.busy = map[string]bool{}
	}
	g.busy[name] = true
	g.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	done := make(chan result, 1)
	go func() {
		v, err := f(ctx)
		g.mu.Lock()
		delete(g.busy, name)
		g.mu.Unlock()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.v, r.err
	case <-ctx.Done():
		return none, fmt.Errorf("%s does not answer: %w", name, ctx.Err())
	}
}
