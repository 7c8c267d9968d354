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

// names are an engine's names for what every engine measures. Empty: it has none.
type names struct {
	running, waiting string
	// progress are counters of which one moves with every token of every request,
	// also in the middle of one. Of a histogram it is the count of samples.
	progress []string
	// kv are gauges of the share of the room for contexts that is taken, by the
	// name they have in newer versions first.
	kv []string
	// looked and found are counters of prompts' tokens: those that were looked for
	// in the cache, and those of them that were there. Where missed is set, looked
	// for is what was found and what was missed together.
	looked, found, missed string
}

// errSilent says that an engine does not measure what was asked for.
var errSilent = errors.New("engines: the engine does not say")

// measured are an engine's metrics by whole name, added up over their labels: an
// engine counts each of its models, or each of its data-parallel ranks, alone.
type measured map[string]sum

// sum is a metric over all its labels.
type sum struct {
	total float64
	// series is how many there were.
	series int
}

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
		s := sum{series: len(f.GetMetric())}
		for _, at := range f.GetMetric() {
			s.total += at.GetGauge().GetValue() + at.GetCounter().GetValue() + at.GetUntyped().GetValue() + float64(at.GetHistogram().GetSampleCount())
		}
		m[name] = s
	}
	return m, nil
}

func (c *client) use(ctx context.Context, e protocol.Endpoint, n names) (protocol.Use, error) {
	m, err := c.metrics(ctx, e)
	if err != nil {
		return protocol.Use{Running: -1, Waiting: -1}, err
	}
	return m.use(n), nil
}

func (m measured) use(n names) protocol.Use {
	u := protocol.Use{Running: -1, Waiting: -1}
	if v, ok := m[n.running]; ok {
		u.Running = int(v.total)
	}
	if v, ok := m[n.waiting]; ok {
		u.Waiting = int(v.total)
	}
	for _, name := range n.kv {
		if v, ok := m[name]; ok && v.series > 0 {
			u.KVUse = share(v.total, float64(v.series))
			break
		}
	}
	looked, found := m[n.looked].total, m[n.found]
	if n.missed != "" {
		looked = found.total + m[n.missed].total
	}
	if found.series > 0 {
		u.PrefixHits = share(found.total, looked)
	}
	return u
}

// share is a part of a whole, from 0 to 1. Nil: of nothing there is none, and of
// numbers that are none.
func share(part, whole float64) *float64 {
	s := part / whole
	if !(whole > 0) || !(s >= 0) {
		return nil
	}
	s = min(s, 1)
	return &s
}

// progress is how far the engine has come. ok is false where it does not say.
func (m measured) progress(n names) (came float64, ok bool) {
	for _, name := range n.progress {
		if v, there := m[name]; there {
			came, ok = came+v.total, true
		}
	}
	return came, ok
}

func (c *client) generated(ctx context.Context, e protocol.Endpoint, n names) (int64, error) {
	m, err := c.metrics(ctx, e)
	if err != nil {
		return 0, err
	}
	came, ok := m.progress(n)
	if !ok {
		return 0, fmt.Errorf("%w: it has no %s", errSilent, n.progress[0])
	}
	return int64(came), nil
}
