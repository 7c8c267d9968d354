package telemetry_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/metric"

	"llmgw.io/llmgw/internal/telemetry"
)

func scrape(t *testing.T, tel *telemetry.Telemetry) string {
	t.Helper()
	rec := httptest.NewRecorder()
	tel.Metrics().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	if rec.Code != http.StatusOK {
		t.Fatalf("a scrape answers %d %s", rec.Code, rec.Body)
	}
	return rec.Body.String()
}

func TestScrape(t *testing.T) {
	t.Parallel()
	tel, err := telemetry.Open(t.Context(), telemetry.Config{Service: "llmgw-control", Version: "v1.2.3", Instance: "here"})
	if err != nil {
		t.Fatal(err)
	}
	h, err := tel.Meters().Meter("test").Float64Histogram("gen_ai.server.request.duration", metric.WithUnit("s"))
	if err != nil {
		t.Fatal(err)
	}
	h.Record(t.Context(), 0.3)
	got := scrape(t, tel)
	for _, want := range []string{
		`gen_ai_server_request_duration_seconds_count{`, `service_version="v1.2.3"`, "go_goroutines", "process_resident_memory_bytes",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the scrape lacks %s:\n%s", want, got)
		}
	}
	if _, span := tel.Tracers().Tracer("test").Start(t.Context(), "x"); span.IsRecording() {
		t.Error("it traces though there is nobody to send traces to")
	}
	if err := tel.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// Two in one process do not meet.
func TestTwo(t *testing.T) {
	t.Parallel()
	for range 2 {
		tel, err := telemetry.Open(t.Context(), telemetry.Config{Service: "llmgw-control"})
		if err != nil {
			t.Fatal(err)
		}
		scrape(t, tel)
	}
}

// What is left goes out at the end, with the headers that were given.
func TestSends(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	got := map[string]string{}
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got[r.URL.Path] += r.Header.Get("X-Token") + string(body)
	}))
	defer srv.Close()
	tel, err := telemetry.Open(t.Context(), telemetry.Config{
		Service: "llmgw-control", Endpoint: srv.URL + "/", Headers: map[string]string{"X-Token": "secret"},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, span := tel.Tracers().Tracer("test").Start(t.Context(), "chat m")
	span.End()
	c, err := tel.Meters().Meter("test").Int64Counter("llmgw.test")
	if err != nil {
		t.Fatal(err)
	}
	c.Add(t.Context(), 1)
	if err := tel.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for path, want := range map[string]string{"/v1/traces": "chat m", "/v1/metrics": "llmgw.test"} {
		if !strings.Contains(got[path], want) || !strings.HasPrefix(got[path], "secret") {
			t.Errorf("%s got %q", path, got[path])
		}
	}
}

func TestWrongSettings(t *testing.T) {
	t.Parallel()
	_, err := telemetry.Open(t.Context(), telemetry.Config{Endpoint: "collector:4318", Sample: 2})
	if err == nil || !strings.Contains(err.Error(), "http://collector:4318") || !strings.Contains(err.Error(), "otel.sample") {
		t.Errorf("want both complaints with what to do, got %v", err)
	}
}
