package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// otherArgument makes this program the proxy that the gate is measured beside.
const otherArgument = "reverse-proxy"

// report prints the figures, writes them to a file where one is named, and says
// whether every goal was met.
func (b *bench) report(ctx context.Context, path string) (met bool, err error) {
	rows, err := b.run(ctx)
	if err != nil {
		return false, err
	}
	met = true
	for _, r := range rows {
		fmt.Println(r)
		met = met && r.met()
	}
	if path == "" {
		return met, nil
	}
	return met, writeRows(path, rows)
}

func writeRows(path string, rows []row) error {
	b, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o600)
}

// row is one figure, and what it must not exceed. Most zero: there is no goal.
type row struct {
	What string  `json:"what"`
	Is   float64 `json:"is"`
	Most float64 `json:"most,omitempty"`
	Unit string  `json:"unit"`
}

func (r row) met() bool { return r.Most == 0 || r.Is <= r.Most }

// String is the row as people read it.
func (r row) String() string {
	goal := ""
	if r.Most > 0 {
		goal = fmt.Sprintf("  goal <= %.4g  %s", r.Most, map[bool]string{true: "met", false: "MISSED"}[r.met()])
	}
	return fmt.Sprintf("%-52s %8.2f %-4s%s", r.What, r.Is, r.Unit, goal)
}

// bench is one run.
type bench struct {
	agent           string
	streams, rounds int
	span, pace      time.Duration
}

// figures are what one proxy took.
type figures struct{ rest, open, chunk float64 } // MiB, MiB, µs of processor time

func (b *bench) run(ctx context.Context) ([]row, error) {
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
	agent, err := filepath.Abs(b.agent)
	if err != nil {
		return nil, err
	}
	var gate, other []figures
	for range b.rounds { // in turn, so that a busy moment is borne by both
		g, err := w.measure(ctx, b, agent, "gate")
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
	mine, theirs := least(gate, chunk), least(other, chunk)
	return []row{
		{"gate: memory at rest", least(gate, func(f figures) float64 { return f.rest }), 20, "MiB"},
		{fmt.Sprintf("gate: memory with %d streams", b.streams), least(gate, func(f figures) float64 { return f.open }), 0, "MiB"},
		{"httputil.ReverseProxy with TLS: memory at rest", least(other, func(f figures) float64 { return f.rest }), 0, "MiB"},
		{fmt.Sprintf("httputil.ReverseProxy with TLS: memory with %d streams", b.streams), least(other, func(f figures) float64 { return f.open }), 0, "MiB"},
		{"gate: processor time of a chunk", mine, 0, "µs"},
		{"httputil.ReverseProxy with TLS: the same", theirs, 0, "µs"},
		{"gate: processor time of a chunk, ratio", mine / theirs, 1, "x"},
	}, nil
}

func least(list []figures, of func(figures) float64) float64 {
	var v []float64
	for _, f := range list {
		v = append(v, of(f))
	}
	return slices.Min(v)
}
