package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/bench/agent/figure"
)

// atRest measures an agent that has nothing to do.
func (b *bench) atRest(ctx context.Context, p *plane, dir string) ([]figure.Figure, error) {
	config, err := machine(ctx, filepath.Join(dir, "machine"))
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	if err := p.join(ctx, "rest", data); err != nil {
		return nil, err
	}
	w, err := stand(ctx, p, data)
	if err != nil {
		return nil, err
	}
	defer w.close()
	a, err := p.agent(data, config+"control: ["+w.url+"]\nports: {min: 21000, max: 21099}\n", "--mgmt-addr", "127.0.0.1")
	if err != nil {
		return nil, err
	}
	defer a.end()
	var n view.Node
	err = until(ctx, "the node is whole", soon, func() (bool, any) {
		n, err = p.admin.Node(ctx, "rest")
		return err == nil && n.State == "ready" && len(n.GPUs) == cards && len(n.IBPorts) == fabricPorts,
			fmt.Sprintf("%s, %d cards, %d ports, %v, %v", n.State, len(n.GPUs), len(n.IBPorts), n.Warnings, err)
	})
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, a.said())
	}
	before := len(w.seen())
	m, err := b.restful(ctx, a)
	if err != nil {
		return nil, err
	}
	peak, err := figure.PeakOf(a.pid())
	if err != nil {
		return nil, err
	}
	plain, measured := largest(w.seen()[before:])
	if plain == 0 || measured == 0 {
		return nil, errors.New("too few beats came; rest longer")
	}
	return []figure.Figure{
		figure.Goal(fmt.Sprintf("agent at rest, %d cards, %d ports: memory", cards, fabricPorts), m.RSS, 40, "MiB"),
		figure.Plain("agent at rest: the same, what is shared in parts", m.PSS, "MiB"),
		figure.Plain("agent at rest: of that, in no file", m.Own, "MiB"),
		figure.Plain("agent at rest: memory at its peak", peak, "MiB"),
		figure.Goal("agent at rest: a beat with nothing changed", float64(plain), 1023, "B"),
		figure.Plain("agent at rest: every third beat, with a measurement", float64(measured), "B"),
	}, nil
}

// restful is the most that the agent has in memory in the second half of its rest.
func (b *bench) restful(ctx context.Context, a *process) (most figure.Memory, err error) {
	pause(ctx, b.rest/2)
	for end := time.Now().Add(b.rest / 2); time.Now().Before(end); pause(ctx, 500*time.Millisecond) {
		m, err := figure.MemoryOf(a.pid())
		if err != nil {
			return most, err
		}
		most.RSS, most.PSS, most.Own = max(most.RSS, m.RSS), max(most.PSS, m.PSS), max(most.Own, m.Own)
	}
	return most, nil
}

// largest are the sizes of the largest beat with nothing new in it, and of the
// largest with a measurement.
func largest(beats []beat) (plain, measured int) {
	for _, s := range beats {
		switch {
		case s.news:
		case s.measured:
			measured = max(measured, s.bytes)
		default:
			plain = max(plain, s.bytes)
		}
	}
	return plain, measured
}
