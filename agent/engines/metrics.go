package engines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"llmgw.io/llmgw/agent/protocol"
)

// names are an engine's names for what every engine measures.
type names struct {
	running, waiting string
	// progress is a counter that moves with every token of every request, also
	// in the middle of one.
	progress string
}

// errSilent says that an engine does not measure what was asked for.
var errSilent = errors.New("engines: the engine does not say")

// measured are an engine's metrics by whole name, added up over their labels: an
// engine counts each of its models, or each of its data-parallel ranks, alone.
type measured map[string]float64

func (c *client) metrics(ctx context.Context, e protocol.Endpoint) (measured, error) {
	a, err := c.ask(ctx, e.Address, "/metrics", e.Key, nil)
	if err != nil {
		return nil, err
	}
	if a.status != http.StatusOK {
		return nil, notYet("/metrics", a)
	}
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(bytes.NewReader(a.body))
	if err != nil {
		return nil, fmt.Errorf("engines: read /metrics: %w", err)
	}
	m := measured{}
	for name, f := range families {
		for _, s := range f.GetMetric() {
			m[name] += s.GetGauge().GetValue() + s.GetCounter().GetValue() + s.GetUntyped().GetValue()
		}
	}
	return m, nil
}

func (c *client) use(ctx context.Context, e protocol.Endpoint, n names) (running, waiting int, err error) {
	m, err := c.metrics(ctx, e)
	if err != nil {
		return -1, -1, err
	}
	running, waiting = -1, -1
	if v, ok := m[n.running]; ok {
		running = int(v)
	}
	if v, ok := m[n.waiting]; ok {
		waiting = int(v)
	}
	return running, waiting, nil
}

func (c *client) generated(ctx context.Context, e protocol.Endpoint, n names) (int64, error) {
	m, err := c.metrics(ctx, e)
	if err != nil {
		return 0, err
	}
	v, ok := m[n.progress]
	if !ok {
		return 0, fmt.Errorf("%w: it has no %s", errSilent, n.progress)
	}
	return int64(v), nil
}
