package router

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"llmgw.io/llmgw/router/outlier"
	"llmgw.io/llmgw/router/upstream"
	"llmgw.io/llmgw/storage"
)

// Config is what a Router needs. Models, Pepper and Usage are required.
type Config struct {
	// Models says what clients may ask for. Required.
	Models Models
	// Backends says where it is served. Nil: static endpoints only.
	Backends Backends
	// Prospects says when waiting is hopeless. Nil: it never is.
	Prospects Prospects
	// Demand is told of requests that wait. Nil: nobody is.
	Demand Demand

	// Keys finds client keys. Nil: declared ones only.
	Keys Keys
	// Declared keys come from the configuration file and beat Keys of their id.
	Declared []storage.Key
	// Pepper is the secret under which keys are hashed. Required.
	Pepper storage.Pepper
	// KeyTTL is how long a key found by Keys is believed. Zero means 5 seconds.
	// Changes made in this process are at once with [Router.ForgetKey].
	KeyTTL time.Duration
	// TrustedProxies are networks whose X-Forwarded-For is believed. Empty: none,
	// and the peer is the client.
	TrustedProxies []netip.Prefix

	// Usage keeps the rows of requests. Required.
	Usage Usage
	// Dir is a folder of this router alone, where rows are written ahead. Empty:
	// rows wait in memory only, and a killed process loses them.
	Dir string

	// Picker chooses replicas. Nil: [LeastDelay].
	Picker Picker
	// Upstream carries requests to replicas. Nil: an [upstream.Pool] over Dial; an
	// [upstream.Standard] does the same by net/http.
	Upstream Upstream
	// Dial opens connections to replicas. Nil: TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Gate gives the TLS side of a connection to the gate of a node. Nil: replicas
	// behind gates cannot be reached. It is for the Upstream that is made here.
	Gate func(node string) (*tls.Config, error)

	// Limits are numbers an operator may change.
	Limits Limits
	// Trouble is by what replicas are judged that fail, fall silent or are slow.
	// The zero value has the defaults.
	Trouble outlier.Rules
	// Ready says why the process is not ready, for /readyz. Nil: it is.
	Ready func() error
	// AccessLog writes a line for every request. It names no prompt and no key.
	AccessLog bool
	// Logger nil is silent.
	Logger *slog.Logger
	// MeterProvider nil takes the global one.
	MeterProvider metric.MeterProvider
	// TracerProvider nil takes the global one.
	TracerProvider trace.TracerProvider
}

// Limits bound requests. The zero value stands for the defaults beside the fields.
type Limits struct {
	// Body is the largest request, in bytes. Default 32 MiB.
	Body int64
	// Queue is how many requests may wait for one model. Default 1000.
	Queue int
	// ColdWait is how long a request waits for a replica that is being started.
	// Default 10 minutes.
	ColdWait time.Duration
	// Retries is how often another replica is tried. Default 2; negative: never.
	Retries int
	// Connect bounds opening a connection. Default 2 seconds.
	Connect time.Duration
	// FirstToken bounds the wait for content; long prefills are normal. Default
	// 10 minutes.
	FirstToken time.Duration
	// Idle bounds the silence between tokens. Within a tool call, of which engines
	// hold pieces back, FirstToken does where it is longer. Default 2 minutes.
	Idle time.Duration
	// Total bounds an answer from its first attempt on. Default 1 hour.
	Total time.Duration
	// Heartbeat is after how much silence a stream's client hears a comment.
	// Default 15 seconds.
	Heartbeat time.Duration
	// FailedCredentials is how many wrong keys an address may send in a minute.
	// Default 10; negative: any number.
	FailedCredentials int
	// Unshipped is how many bytes of rows wait on disk while the store is away;
	// rows beyond are lost, counted and warned of. Default 256 MiB.
	Unshipped int64
}

// The times of things that nobody has asked to change.
const (
	clientWrite   = 30 * time.Second // a client that reads nothing for so long is gone
	clientBody    = 30 * time.Second // and so is one that sends nothing
	afterDone     = 2 * time.Second  // an engine may take so long to end a stream after its end mark
	maxRetryAfter = time.Minute
	keyOutage     = 10 * time.Minute // a key is believed for so long while the store is away
)

func (c Config) withDefaults() Config {
	l := &c.Limits
	orElse(&l.Body, 32<<20)
	orElse(&l.Queue, 1000)
	orElse(&l.ColdWait, 10*time.Minute)
	orElse(&l.Retries, 2)
	orElse(&l.Connect, 2*time.Second)
	orElse(&l.FirstToken, 10*time.Minute)
	orElse(&l.Idle, 2*time.Minute)
	orElse(&l.Total, time.Hour)
	orElse(&l.Heartbeat, 15*time.Second)
	orElse(&l.FailedCredentials, 10)
	orElse(&l.Unshipped, 256<<20)
	orElse(&c.KeyTTL, 5*time.Second)
	if c.Picker == nil {
		c.Picker = LeastDelay{}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.MeterProvider == nil {
		c.MeterProvider = otel.GetMeterProvider()
	}
	if c.TracerProvider == nil {
		c.TracerProvider = otel.GetTracerProvider()
	}
	if c.Dial == nil {
		c.Dial = (&net.Dialer{Timeout: l.Connect, KeepAlive: 30 * time.Second}).DialContext
	}
	if c.Upstream == nil {
		c.Upstream = upstream.New(upstream.Config{Dial: c.Dial, Connect: l.Connect, Gate: c.Gate})
	}
	return c
}

func orElse[T comparable](field *T, standard T) {
	var zero T
	if *field == zero {
		*field = standard
	}
}

// check joins every complaint about the configuration.
func (c Config) check() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf("router: "+format, args...)) }
	if c.Models == nil {
		wrong("Models is missing; pass the catalog's service, or an index of your own")
	}
	if len(c.Pepper) == 0 {
		wrong("Pepper is missing; without it no key could be checked")
	}
	if c.Usage == nil {
		wrong("Usage is missing; pass a store, storage/memstore where nothing is to be kept")
	}
	if c.Limits.Body < 0 || c.Limits.Queue < 0 || c.Limits.Unshipped < 0 {
		wrong("Limits.Body, Queue and Unshipped may not be negative")
	}
	l := c.Limits
	if min(c.KeyTTL, l.ColdWait, l.Connect, l.FirstToken, l.Idle, l.Total, l.Heartbeat) < 0 {
		wrong("KeyTTL and the times of Limits may not be negative; leave them out for their defaults")
	}
	for i := range c.Declared {
		if err := storage.CheckKey(&c.Declared[i]); err != nil {
			wrong("declared key %d of %d: %w", i+1, len(c.Declared), err)
		}
	}
	return errors.Join(errs...)
}
