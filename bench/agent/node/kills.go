package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"llmgw.io/llmgw/bench/agent/figure"
	"llmgw.io/llmgw/catalog"
)

// engines is how many run on the agent that is killed.
const engines = 2

// killed measures how long engines are without an agent's care when it is killed,
// and what becomes of their streams.
func (b *bench) killed(ctx context.Context, p *plane, dir string) ([]figure.Figure, error) {
	at, err := outside()
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	if err := p.join(ctx, "killed", data); err != nil {
		return nil, err
	}
	began := func() (*process, error) { return p.agent(data, "ports: {min: 21100, max: 21199}\n", "--mgmt-addr", at) }
	a, err := began()
	if err != nil {
		return nil, err
	}
	defer func() { a.end() }()
	if err := b.serve(ctx, p); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, a.said())
	}
	defer func() { _ = p.forget(ctx) }()
	before := pidsIn(data)
	s, err := p.open(ctx, b.streams)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	var spans []time.Duration
	for i := range b.kills {
		killed := time.Now()
		a.stop(syscall.SIGKILL)
		if a, err = began(); err != nil {
			return nil, err
		}
		took, err := b.adopted(ctx, a, killed)
		if err != nil {
			return nil, fmt.Errorf("kill %d: %w\n%s", i+1, err, a.said())
		}
		spans = append(spans, took...)
	}
	s.stop()
	if now := pidsIn(data); !slices.Equal(now, before) {
		return nil, fmt.Errorf("engines and gates had the process ids %v and have %v", before, now)
	}
	broken, chunks := s.result()
	if chunks == 0 {
		return nil, errors.New("no stream brought anything")
	}
	return []figure.Figure{
		figure.Goal(fmt.Sprintf("agent killed %d times, %d engines: adopted, p99", b.kills, engines), figure.Percentile(spans, 99).Seconds(), 10, "s"),
		figure.Plain("agent killed: adopted, p50", figure.Percentile(spans, 50).Seconds(), "s"),
		figure.Goal("agent killed: adopted, the slowest", figure.Percentile(spans, 100).Seconds(), 30, "s"),
		figure.Goal(fmt.Sprintf("agent killed: of %d streams through gates, broken", b.streams), float64(broken), 0, ""),
	}, nil
}

// outside is an address of this machine that is not loopback, so that gates are
// opened.
func outside() (string, error) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return "", err
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() {
			return n.IP.String(), nil
		}
	}
	return "", errors.New("this machine has no address but loopback, so no gate would be opened; add one to an interface")
}

// serve has two engines run that say as much as they are asked for.
func (b *bench) serve(ctx context.Context, p *plane) error {
	n := engines
	m := catalog.Model{
		Name: "m", Scaling: &catalog.Scaling{Min: n, Max: &n},
		Profiles: []catalog.Profile{{
			Name: "sim", Engine: catalog.EngineSim, Slots: 2 * b.streams, Context: 2_000_000,
			Args: []string{"--say", "word", "--output-tokens", "1000000", "--inter-token-latency", "20ms"},
		}},
	}
	if _, err := p.admin.AddModel(ctx, m); err != nil {
		return err
	}
	return until(ctx, "both engines are ready", 2*soon, func() (bool, any) {
		list, err := p.replicas(ctx, "m")
		ready := 0
		var said []string
		for _, r := range list {
			said = append(said, r.State)
			if r.State == "ready" && len(r.Shards) > 0 && r.Shards[0].Node == "killed" {
				ready++
			}
		}
		return err == nil && ready == engines, fmt.Sprint(said, err)
	})
}

// forget removes the model, and waits until its engines are gone.
func (p *plane) forget(ctx context.Context) error {
	if _, err := p.admin.RemoveModel(ctx, "m"); err != nil {
		return err
	}
	return until(ctx, "the engines are gone", soon, func() (bool, any) {
		list, err := p.replicas(ctx, "m")
		return err == nil && len(list) == 0, err
	})
}

// adopted waits until a new agent has said of both engines that they are its own,
// and gives the time since the kill of each.
func (b *bench) adopted(ctx context.Context, a *process, killed time.Time) (spans []time.Duration, err error) {
	err = until(ctx, "both engines are adopted", soon, func() (bool, any) {
		log, err := os.ReadFile(a.log)
		if err != nil {
			return false, err
		}
		for n := strings.Count(string(log), `"adopted":true`); len(spans) < n; {
			spans = append(spans, time.Since(killed))
		}
		return len(spans) >= engines, len(spans)
	})
	return spans, err
}

// pidsIn lists the processes that work in a folder, as engines and gates do.
func pidsIn(dir string) (pids []int) {
	list, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, path := range list {
		cwd, err := os.Readlink(path)
		var pid int
		if _, scanErr := fmt.Sscanf(path, "/proc/%d/cwd", &pid); err == nil && scanErr == nil && strings.HasPrefix(cwd, dir+"/") {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}
