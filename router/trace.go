package router

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"llmgw.io/llmgw/storage"
)

// scopeName is what instruments and spans of this package are known by.
const scopeName = "llmgw.io/llmgw/router"

// tracing makes a span of every request and one of every attempt, by the GenAI
// semantic conventions of OpenTelemetry. They hold no prompt, no answer and no
// key.
type tracing struct{ tracer trace.Tracer }

func newTracing(p trace.TracerProvider) tracing { return tracing{p.Tracer(scopeName)} }

// wire reads and writes W3C trace contexts.
var wire propagation.TraceContext

// begin starts the span of a request, within the client's trace where it has one.
func (t tracing) begin(x *exchange) {
	ctx := x.req.Context()
	if x.req.Header["Traceparent"] != nil {
		ctx = wire.Extract(ctx, propagation.HeaderCarrier(x.req.Header))
	}
	ctx, x.span = t.tracer.Start(ctx, x.ep.name, trace.WithSpanKind(trace.SpanKindServer))
	if x.span.IsRecording() {
		x.req = x.req.WithContext(ctx)
	}
}

// end tells the span what became of the request.
func (x *exchange) endSpan() {
	s := x.span
	if !s.IsRecording() {
		return
	}
	row := &x.row
	s.SetName(operation(row.Endpoint) + " " + row.Billed())
	s.SetAttributes(
		attribute.String("gen_ai.operation.name", operation(row.Endpoint)),
		attribute.String("gen_ai.provider.name", provider),
		attribute.String("gen_ai.request.model", row.Model),
		attribute.String("gen_ai.response.model", row.ServedModel),
		attribute.Int64("gen_ai.usage.input_tokens", row.PromptTokens),
		attribute.Int64("gen_ai.usage.output_tokens", row.CompletionTokens),
		attribute.Int("http.response.status_code", row.Status),
		attribute.String("llmgw.request.id", row.ID),
		attribute.String("llmgw.outcome", string(row.Outcome)),
		attribute.String("llmgw.project.id", row.ProjectID),
		attribute.Float64("llmgw.queued", row.Queued.Seconds()),
	)
	if row.Failed() {
		s.SetAttributes(attribute.String("error.type", string(row.Outcome)))
		s.SetStatus(codes.Error, string(row.Outcome))
	}
	s.End()
}

// provider stands for whoever runs the model, as far as clients can tell.
const provider = "llmgw"

// attempt starts the span of an attempt.
func (t tracing) attempt(ctx context.Context, g goal, b *Backend, endpoint string) (context.Context, trace.Span) {
	ctx, s := t.tracer.Start(ctx, operation(endpoint), trace.WithSpanKind(trace.SpanKindClient))
	if s.IsRecording() {
		s.SetName(operation(endpoint) + " " + string(g.billed()))
		s.SetAttributes(
			attribute.String("gen_ai.operation.name", operation(endpoint)),
			attribute.String("gen_ai.provider.name", provider),
			attribute.String("gen_ai.request.model", string(g.billed())),
			attribute.String("llmgw.replica", b.ID),
		)
	}
	return ctx, s
}

// endAttempt tells the span how the attempt ended.
func endAttempt(s trace.Span, at *storage.Attempt) {
	if !s.IsRecording() {
		return
	}
	if at.Status != 0 {
		s.SetAttributes(attribute.Int("http.response.status_code", at.Status))
	}
	if at.Error != "" {
		s.SetAttributes(attribute.String("error.type", at.Error))
		s.SetStatus(codes.Error, at.Error)
	}
	s.End()
}

// traceHeader puts the trace into what a replica is sent: our span where there
// is one, else what the client said, within reason.
func traceHeader(ctx context.Context, s trace.Span, client, h http.Header) {
	if s.IsRecording() {
		wire.Inject(ctx, propagation.HeaderCarrier(h))
		return
	}
	for _, name := range [...]string{"Traceparent", "Tracestate"} {
		if v := client[name]; len(v) == 1 && len(v[0]) <= 512 {
			h[name] = v
		}
	}
}
