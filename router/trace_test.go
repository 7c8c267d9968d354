package router_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"llmgw.io/llmgw/router"
	"llmgw.io/llmgw/router/routertest"
)

// A request is a span within the client's trace, each attempt one below it, and
// the engine is told the attempt's. Nothing of a prompt or a key is in them.
func TestSpans(t *testing.T) {
	t.Parallel()
	ended := tracetest.NewSpanRecorder()
	traces := func(c *router.Config) {
		c.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(ended))
	}
	inWorld(t, traces, func(w *world) {
		good := &routertest.Engine{}
		w.fleet.Set("m", w.serve("bad", &routertest.Engine{Answer: routertest.JSON(503, loading)}), w.serve("good", good))
		req := w.request(http.MethodPost, chatPath, strings.Replace(chatBody, `"m"`, `"nick"`, 1))
		const id = "0af7651916cd43dd8448eb211c80319c"
		req.Header.Set("Traceparent", "00-"+id+"-b7ad6b7169203331-01")
		if a := w.do(req); a.status != 200 {
			t.Fatalf("answered %d %s", a.status, a.body)
		}
		synctest.Wait()
		spans := ended.Ended()
		var got []string
		for _, s := range spans {
			got = append(got, fmt.Sprintf("%s %s %s", s.SpanKind(), s.Name(), s.Status().Description))
			if s.SpanContext().TraceID().String() != id {
				t.Errorf("%s is of the trace %s", s.Name(), s.SpanContext().TraceID())
			}
			if text := fmt.Sprint(s.Attributes(), s.Events()); strings.Contains(text, w.key) || strings.Contains(text, "content") {
				t.Errorf("%s tells %s", s.Name(), text)
			}
		}
		if want := []string{"client chat m status 503", "client chat m ", "server chat m "}; !slices.Equal(got, want) {
			t.Fatalf("the spans are %q, want %q", got, want)
		}
		whole := spans[2]
		if whole.Parent().SpanID().String() != "b7ad6b7169203331" || spans[1].Parent().SpanID() != whole.SpanContext().SpanID() {
			t.Error("the spans are not below each other")
		}
		if got := good.Calls()[0].Header.Get("Traceparent"); got != "00-"+id+"-"+spans[1].SpanContext().SpanID().String()+"-01" {
			t.Errorf("the engine is told %q", got)
		}
		for _, want := range []attribute.KeyValue{
			attribute.String("gen_ai.request.model", "nick"), attribute.String("gen_ai.response.model", "m"),
			attribute.Int64("gen_ai.usage.input_tokens", 3), attribute.Int64("gen_ai.usage.output_tokens", 1),
			attribute.Int("http.response.status_code", 200), attribute.String("gen_ai.operation.name", "chat"),
		} {
			if !slices.Contains(whole.Attributes(), want) {
				t.Errorf("the request's span lacks %s = %v", want.Key, want.Value.AsInterface())
			}
		}
	})
}

// What is measured has the names of the semantic conventions, and names models
// that are there and no other.
func TestMeasures(t *testing.T) {
	t.Parallel()
	reader := sdkmetric.NewManualReader()
	measured := func(c *router.Config) { c.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)) }
	inWorld(t, measured, func(w *world) {
		w.fleet.Set("m", router.Backend{ID: "dead", Address: "dead:1"}, w.serve("good", &routertest.Engine{Answer: func(rw httpWriter, c routertest.Call) {
			if routertest.Pause(c, time.Second) {
				routertest.Hello(rw, c)
			}
		}}))
		w.post(chatPath, streamBody)
		w.post(chatPath, streamBody)
		w.post(chatPath, strings.Replace(chatBody, `"m"`, `"made-up"`, 1))
		w.one(routertest.Paced(5*time.Second, content("a"), content("b")+stopEvent+usageEvent+doneEvent)) // three tokens
		w.post(chatPath, streamBody)
		var all metricdata.ResourceMetrics
		if err := reader.Collect(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, m := range all.ScopeMetrics[0].Metrics {
			got[m.Name] = fmt.Sprintf("%+v", m.Data)
		}
		for name, model := range map[string]string{
			"gen_ai.server.request.duration": "m", "gen_ai.server.time_to_first_token": "m", "gen_ai.client.token.usage": "m",
			"gen_ai.server.time_per_output_token": "Sum:2.5",
			"llmgw.router.requests.waiting":       "m", "llmgw.router.requests.in_flight": "good",
			"llmgw.router.attempts.failed": "unreachable", "llmgw.router.replicas.ejected": "m",
		} {
			if !strings.Contains(got[name], model) {
				t.Errorf("%s is %s", name, got[name])
			}
			if strings.Contains(got[name], "made-up") {
				t.Errorf("%s names a model that a client made up", name)
			}
		}
	})
}

// Without tracing the engine hears the client's own trace.
func TestNoSpans(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		e := w.one(nil)
		req := w.request(http.MethodPost, chatPath, chatBody)
		const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		req.Header.Set("Traceparent", parent)
		w.do(req)
		if got := e.Calls()[0].Header.Get("Traceparent"); got != parent {
			t.Errorf("the engine is told %q", got)
		}
	})
}
