package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"llmgw.io/llmgw/bench/agent/figure"
)

// bench is one run.
type bench struct {
	bin            string
	rest           time.Duration
	kills, streams int
}

func (b *bench) report(ctx context.Context, path string) (met bool, err error) {
	list, err := b.run(ctx)
	if err != nil {
		return false, err
	}
	return figure.Report(os.Stdout, path, list)
}

func (b *bench) run(ctx context.Context) (list []figure.Figure, err error) {
	bin, err := filepath.Abs(b.bin)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "llmgw-bench-node-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	p, err := startPlane(ctx, bin, filepath.Join(dir, "control"))
	if err != nil {
		return nil, fmt.Errorf("the control plane: %w", err)
	}
	defer p.end()
	rest, err := b.atRest(ctx, p, filepath.Join(dir, "rest"))
	if err != nil {
		return nil, fmt.Errorf("the agent at rest: %w", err)
	}
	killed, err := b.killed(ctx, p, filepath.Join(dir, "killed"))
	if err != nil {
		return nil, fmt.Errorf("the agent that is killed: %w", err)
	}
	return append(rest, killed...), nil
}

// until asks again and again until something is so, or too long has passed.
func until(ctx context.Context, what string, limit time.Duration, so func() (bool, any)) error {
	var last any
	for end := time.Now().Add(limit); time.Now().Before(end); pause(ctx, 20*time.Millisecond) {
		var ok bool
		if ok, last = so(); ok {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return fmt.Errorf("%s: not within %s; the last seen: %v", what, limit, last)
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
