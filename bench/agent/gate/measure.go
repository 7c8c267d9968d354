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
	"strconv"
	"strings"
	"time"

	"llmgw.io/llmgw/agent/gate"
)

// clockTick is the unit of processor time in /proc, on every Linux there is.
const clockTick = 10_000 // µs

// measure runs a proxy by its program and first argument, and takes its figures.
func (w *world) measure(ctx context.Context, b *bench, program, argument string) (figures, error) {
	var f figures
	address, err := w.write()
	if err != nil {
		return f, err
	}
	cmd := exec.CommandContext(ctx, program, argument, w.dir)
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
	if f.rest, err = memory(cmd.Process.Pid); err != nil {
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
	if f.open, err = memory(cmd.Process.Pid); err != nil {
		return f, err
	}
	cancel()
	return f, wait()
}

// perChunk is the processor time of one chunk in µs, over a span of time.
func (w *world) perChunk(ctx context.Context, pid int, span time.Duration) (float64, error) {
	before, err := ticks(pid)
	if err != nil {
		return 0, err
	}
	from := w.chunks.Load()
	pause(ctx, span)
	after, err := ticks(pid)
	if err != nil {
		return 0, err
	}
	n := w.chunks.Load() - from
	if n < 1000 {
		return 0, fmt.Errorf("only %d chunks came in %s", n, span)
	}
	return float64(after-before) * clockTick / float64(n), nil
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

// ticks is the processor time a process has used.
func ticks(pid int) (int64, error) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat cannot be read", pid)
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	return user + system, err
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
