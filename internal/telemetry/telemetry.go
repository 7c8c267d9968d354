package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	promexporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Config says what is sent where.
type Config struct {
	// Service is what the process calls itself ("llmgw-control"), Version its
	// version, Instance what tells it from its like on one host.
	Service, Version, Instance string
	// Endpoint is a collector's base URL for OTLP over HTTP
	// ("http://collector:4318"). Empty: nothing is sent, and nothing is traced.
	Endpoint string
	// Headers go with everything that is sent, credentials for instance.
	Headers map[string]string
	// Sample is the share of traces that begin here which are kept, above 0 up to
	// 1; what a client traces is kept when it says so. Zero: all.
	Sample float64
	// Logger is told what cannot be sent. Nil is silent.
	Logger *slog.Logger
}

// Telemetry is the providers that a process gives its parts.
type Telemetry struct {
	meters  *sdkmetric.MeterProvider
	tracers trace.TracerProvider
	metrics http.Handler
	close   []func(context.Context) error
}

// sendEvery is the pause between two sendings of metrics, the default of the
// OpenTelemetry specification.
const sendEvery = 60 * time.Second

// Open makes the providers. It connects to nobody: a collector that is away is
// tried again and costs a line in the log.
func Open(ctx context.Context, cfg Config) (*Telemetry, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	reader, err := promexporter.New(promexporter.WithRegisterer(registry))
	if err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	t := &Telemetry{
		tracers: noop.NewTracerProvider(),
		metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry, EnableOpenMetrics: true}),
	}
	host, _ := os.Hostname() // without a name, the instance must do
	about := resource.NewSchemaless(
		attribute.String("service.name", cfg.Service), attribute.String("service.version", cfg.Version),
		attribute.String("service.instance.id", host+":"+cfg.Instance),
	)
	meters := []sdkmetric.Option{sdkmetric.WithReader(reader), sdkmetric.WithResource(about)}
	if cfg.Endpoint != "" {
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { cfg.Logger.Warn("telemetry could not be sent", "err", err) }))
		sender, err := t.send(ctx, cfg, about)
		if err != nil {
			return nil, err
		}
		meters = append(meters, sdkmetric.WithReader(sender))
	}
	t.meters = sdkmetric.NewMeterProvider(meters...)
	t.close = append(t.close, t.meters.Shutdown)
	return t, nil
}

// check joins every complaint.
func (cfg Config) check() error {
	var errs []error
	if cfg.Sample < 0 || cfg.Sample > 1 {
		errs = append(errs, fmt.Errorf("telemetry: otel.sample is %g: give it a share between 0 and 1", cfg.Sample))
	}
	if cfg.Endpoint != "" {
		u, err := url.Parse(cfg.Endpoint)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			errs = append(errs, fmt.Errorf("telemetry: otel.endpoint is %q: give it the base URL of a collector, such as http://collector:4318", cfg.Endpoint))
		}
	}
	return errors.Join(errs...)
}

// send opens what goes to a collector: traces, and a reader that sends metrics.
func (t *Telemetry) send(ctx context.Context, cfg Config, about *resource.Resource) (sdkmetric.Reader, error) {
	base := strings.TrimRight(cfg.Endpoint, "/")
	spans, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(base+"/v1/traces"), otlptracehttp.WithHeaders(cfg.Headers))
	if err != nil {
		return nil, fmt.Errorf("telemetry: traces to %s: %w", cfg.Endpoint, err)
	}
	numbers, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(base+"/v1/metrics"), otlpmetrichttp.WithHeaders(cfg.Headers))
	if err != nil {
		return nil, fmt.Errorf("telemetry: metrics to %s: %w", cfg.Endpoint, err)
	}
	sample := cfg.Sample
	if sample == 0 {
		sample = 1
	}
	tracers := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans), sdktrace.WithResource(about),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(sample))))
	t.tracers = tracers
	t.close = append(t.close, tracers.Shutdown)
	return sdkmetric.NewPeriodicReader(numbers, sdkmetric.WithInterval(sendEvery)), nil
}

// Meters is where instruments come from.
func (t *Telemetry) Meters() metric.MeterProvider { return t.meters }

// Tracers is where spans come from; without an endpoint it makes none.
func (t *Telemetry) Tracers() trace.TracerProvider { return t.tracers }

// Metrics answers a scrape, in the form of Prometheus.
func (t *Telemetry) Metrics() http.Handler { return t.metrics }

// lastWords is how long a process that ends tries to send what is left.
const lastWords = 3 * time.Second

// Flush closes it at the end of a process. A collector that is away is a line in
// the log and no reason to fail.
func (t *Telemetry) Flush(logger *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	if err := t.Close(ctx); err != nil {
		logger.Warn("the last telemetry could not be sent", "err", err)
	}
}

// Close sends what is left, as long as the context lasts.
func (t *Telemetry) Close(ctx context.Context) error {
	var errs []error
	for _, c := range t.close {
		errs = append(errs, c(ctx))
	}
	return errors.Join(errs...)
}
