package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"llmgw.io/llmgw/bench/agent/figure"
)

// otherArgument makes this program the proxy that the gate is measured beside.
const otherArgument = "reverse-proxy"

// report prints the figures, keeps them in a file where one is named, and says
// whether every goal was met.
func (b *bench) report(ctx context.Context, path string) (met bool, err error) {
	list, err := b.run(ctx)
	if err != nil {
		return false, err
	}
	return figure.Report(os.Stdout, path, list)
}

// bench is one run.
type bench struct {
	gate            string
	streams, rounds int
	span, pace      time.Duration
}

// figures are what one proxy took.
type figures struct {
	rest, open figure.Memory
	chunk      float64 // µs of processor time
}

func (b *bench) run(ctx context.Context) ([]figure.Figure, error) {
	dir, err := os.MkdirTemp("", "llmgw-bench-gate-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	w, err := newWorld(ctx, dir, b.pace)
	if err != nil {
		return nil, err
	}
	defer w.close()
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	program, err := filepath.Abs(b.gate)
	if err != nil {
		return nil, err
	}
	var gate, other []figures
	for range b.rounds { // in turn, so that a busy moment is borne by both
		g, err := w.measure(ctx, b, program)
		if err != nil {
			return nil, fmt.Errorf("the gate: %w", err)
		}
		o, err := w.measure(ctx, b, self, otherArgument)
		if err != nil {
			return nil, fmt.Errorf("the reverse proxy: %w", err)
		}
		gate, other = append(gate, g), append(other, o)
	}
	if len(gate) == 0 {
		return nil, errors.New("no round was wanted")
	}
	chunk := func(f figures) float64 { return f.chunk }
	rest, open := func(f figures) float64 { return f.rest.RSS }, func(f figures) float64 { return f.open.RSS }
	own := func(f figures) float64 { return f.open.Own }
	mine, theirs := least(gate, chunk), least(other, chunk)
	streams := fmt.Sprintf("with %d streams", b.streams)
	return []figure.Figure{
		figure.Goal("gate: memory at rest", least(gate, rest), 20, "MiB"),
		figure.Goal("gate: memory "+streams, least(gate, open), 20, "MiB"),
		figure.Plain("gate: of that, in no file", least(gate, own), "MiB"),
		figure.Plain("httputil.ReverseProxy with TLS: memory at rest", least(other, rest), "MiB"),
		figure.Plain("httputil.ReverseProxy with TLS: memory "+streams, least(other, open), "MiB"),
		figure.Plain("gate: CPU of a chunk", mine, "µs"),
		figure.Plain("httputil.ReverseProxy with TLS: CPU of a chunk", theirs, "µs"),
		figure.Goal("gate: CPU of a chunk, of httputil.ReverseProxy's", mine/theirs, 1, "x"),
	}, nil
}

func least(list []figures, of func(figures) float64) float64 {
	var v []float64
	for _, f := range list {
		v = append(v, of(f))
	}
	return slices.Min(v)
}
