package router

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/storage"
)

// instruments are what is measured of requests, under the names of the GenAI
// semantic conventions where they have one.
type instruments struct {
	duration, first, between, tokens metric.Float64Histogram
	failures, ejected                metric.Int64Counter
}

func newInstruments(p metric.MeterProvider) (*instruments, error) {
	m := p.Meter(scopeName)
	var s instruments
	var errs [6]error
	s.duration, errs[0] = m.Float64Histogram("gen_ai.server.request.duration", metric.WithUnit("s"),
		metric.WithDescription("Time from a request's first byte to the end of its answer."),
		metric.WithExplicitBucketBoundaries(.01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92))
	s.first, errs[1] = m.Float64Histogram("gen_ai.server.time_to_first_token", metric.WithUnit("s"),
		metric.WithDescription("Time to the first content of an answer."),
		metric.WithExplicitBucketBoundaries(.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10))
	s.between, errs[5] = m.Float64Histogram("gen_ai.server.time_per_output_token", metric.WithUnit("s"),
		metric.WithDescription("Time for each token of a stream after its first."),
		metric.WithExplicitBucketBoundaries(.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5))
	s.tokens, errs[2] = m.Float64Histogram("gen_ai.client.token.usage", metric.WithUnit("{token}"),
		metric.WithDescription("Tokens of requests, prompts and answers apart."),
		metric.WithExplicitBucketBoundaries(1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576))
	s.failures, errs[3] = m.Int64Counter("llmgw.router.attempts.failed", metric.WithUnit("{attempt}"),
		metric.WithDescription("Attempts at a replica that failed; another replica may have answered."))
	s.ejected, errs[4] = m.Int64Counter("llmgw.router.replicas.ejected", metric.WithUnit("{replica}"),
		metric.WithDescription("Replicas that were put out for a while."))
	return &s, errors.Join(errs[:]...)
}

// request measures one request. Only models that answered are named: names that
// clients made up would be series without end.
func (s *instruments) request(ctx context.Context, row *storage.Request) {
	if !s.duration.Enabled(ctx) {
		return
	}
	common := []attribute.KeyValue{
		attribute.String("gen_ai.operation.name", operation(row.Endpoint)),
		attribute.String("gen_ai.provider.name", provider),
		attribute.String("gen_ai.request.model", row.ServedModel),
		attribute.String("llmgw.outcome", string(row.Outcome)),
	}
	set := attribute.NewSet(common...)
	s.duration.Record(ctx, row.Latency.Seconds(), metric.WithAttributeSet(set))
	if row.FirstByte > 0 {
		s.first.Record(ctx, row.FirstByte.Seconds(), metric.WithAttributeSet(set))
		if later := row.CompletionTokens - 1; later > 0 && row.Stream {
			s.between.Record(ctx, (row.Latency-row.FirstByte).Seconds()/float64(later), metric.WithAttributeSet(set))
		}
	}
	for kind, n := range map[string]int64{"input": row.PromptTokens, "output": row.CompletionTokens} {
		if n > 0 {
			s.tokens.Record(ctx, float64(n), metric.WithAttributeSet(set), metric.WithAttributes(attribute.String("gen_ai.token.type", kind)))
		}
	}
}

// observe has what waits and what is in flight read at every collection.
func (r *Router) observe(p metric.MeterProvider) error {
	m := p.Meter(scopeName)
	waiting, err := m.Int64ObservableGauge("llmgw.router.requests.waiting", metric.WithUnit("{request}"),
		metric.WithDescription("Requests held until a replica is ready."))
	flying, err2 := m.Int64ObservableGauge("llmgw.router.requests.in_flight", metric.WithUnit("{request}"),
		metric.WithDescription("Requests being answered, by replica."))
	if err = errors.Join(err, err2); err != nil {
		return err
	}
	_, err = m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		t := r.Traffic()
		for model, d := range t.Models {
			o.ObserveInt64(waiting, int64(d.Waiting), metric.WithAttributes(attribute.String("gen_ai.request.model", string(model))))
		}
		for id, d := range t.Replicas {
			o.ObserveInt64(flying, int64(d.InFlight), metric.WithAttributes(attribute.String("llmgw.replica", id)))
		}
		return nil
	}, waiting, flying)
	return err
}

// putOut counts a replica that is asked last from now on.
func (s *instruments) putOut(model catalog.Name) {
	s.ejected.Add(context.Background(), 1, metric.WithAttributes(attribute.String("gen_ai.request.model", string(model))))
}

// failed counts an attempt that failed.
func (s *instruments) failed(model catalog.Name, why string) {
	s.failures.Add(context.Background(), 1, metric.WithAttributes(
		attribute.String("gen_ai.request.model", string(model)), attribute.String("error.type", why)))
}

func operation(endpoint string) string {
	if endpoint == completions.name {
		return "text_completion"
	}
	return endpoint
}
