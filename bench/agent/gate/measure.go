package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"llmgw.io/llmgw/agent/gate"
	"llmgw.io/llmgw/bench/agent/figure"
)

// measure runs a proxy by its program and first arguments, and takes its figures.
func (w *world) measure(ctx context.Context, b *bench, program string, first ...string) (figures, error) {
	var f figures
	address, err := w.write()
	if err != nil {
		return f, err
	}
	cmd := exec.CommandContext(ctx, program, append(first, w.dir)...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return f, err
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	if err := w.untilUp(ctx, address); err != nil {
		return f, err
	}
	pause(ctx, time.Second)
	if f.rest, err = figure.MemoryOf(cmd.Process.Pid); err != nil {
		return f, err
	}
	streams, cancel := context.WithCancel(ctx)
	defer cancel()
	wait, err := w.clients(streams, b.streams, address)
	if err != nil {
		return f, err
	}
	pause(ctx, 2*time.Second) // handshakes are over
	took, err := w.perChunk(ctx, cmd.Process.Pid, b.span)
	if err != nil {
		return f, err
	}
	f.chunk = took
	if f.open, err = figure.MemoryOf(cmd.Process.Pid); err != nil {
		return f, err
	}
	cancel()
	return f, wait()
}

// perChunk is the processor time of one chunk in µs, over a span of time.
func (w *world) perChunk(ctx context.Context, pid int, span time.Duration) (float64, error) {
	before, err := figure.TimeOf(pid)
	if err != nil {
		return 0, err
	}
	from := w.chunks.Load()
	pause(ctx, span)
	after, err := figure.TimeOf(pid)
	if err != nil {
		return 0, err
	}
	n := w.chunks.Load() - from
	if n < 1000 {
		return 0, fmt.Errorf("only %d chunks came in %s", n, span)
	}
	return float64((after - before).Microseconds()) / float64(n), nil
}

// write makes the folder of a gate that listens where nobody does, and gives the
// address.
func (w *world) write() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return "", err
	}
	b, err := json.Marshal(gate.Config{Shard: "bench", Listen: address, Engine: w.address, EngineKey: "bench", Identity: w.identity})
	if err != nil {
		return "", err
	}
	return address, os.WriteFile(filepath.Join(w.dir, gate.ConfigFile), b, 0o600)
}

func (w *world) untilUp(ctx context.Context, address string) error {
	t := &http.Transport{TLSClientConfig: w.router, DisableKeepAlives: true}
	var last error
	for range 200 {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/health", http.NoBody)
		if err != nil {
			return err
		}
		res, err := t.RoundTrip(req)
		if err == nil {
			return res.Body.Close()
		}
		last = err
		pause(ctx, 50*time.Millisecond)
	}
	return fmt.Errorf("it did not come up: %w", last)
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
