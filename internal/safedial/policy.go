package safedial

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"time"
)

// Config is what one kind of call may reach. The zero value reaches public
// addresses over https on ports 80 and 443.
type Config struct {
	// Name says in the log which policy refused, such as "webhook". May be empty.
	Name string
	// AllowHTTP lets plain http through. False: https alone.
	AllowHTTP bool
	// Ports are those of public addresses that may be reached. Empty: 80 and 443.
	Ports []uint16
	// Allow opens addresses or ports that are otherwise refused. Empty: none.
	Allow []Allow
	// Own are listeners of this process, never to be reached, not even by Allow.
	// An unspecified address means every address of this machine; port zero means
	// every port. Empty: none, though this machine's loopback is refused anyway.
	Own []netip.AddrPort
	// Deny is asked about each address that is otherwise allowed, for what changes
	// while we run, such as the nodes' management addresses. It may be called from
	// many goroutines at once and must not block. Connections that are open are
	// not asked about again. Nil: nothing more is denied.
	Deny func(netip.AddrPort) bool

	// MaxRedirects is how many redirects are followed. Zero: 3. Negative: none.
	MaxRedirects int
	// MaxBody is the most bytes of an answer's body. Zero: 16 MiB. Negative: no
	// limit, for a caller who knows the length it wants and counts.
	MaxBody int64
	// DialTimeout bounds looking up and connecting. Zero: 10 seconds.
	DialTimeout time.Duration
	// TLSTimeout bounds the TLS handshake. Zero: 10 seconds.
	TLSTimeout time.Duration
	// HeaderTimeout bounds the wait for an answer's header. Zero: 30 seconds.
	HeaderTimeout time.Duration
	// StallTimeout bounds the wait for more of a body. Zero: 60 seconds.
	StallTimeout time.Duration
	// Timeout bounds each request whole, body and all, anew for each redirect.
	// Zero: 60 seconds. Negative: no bound, for downloads; StallTimeout still holds.
	Timeout time.Duration

	// RootCAs are the authorities for https. Nil: the machine's.
	RootCAs *x509.CertPool
	// Resolve looks up a host name. Nil: the machine's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Logger hears the causes, which callers do not. Nil: silent.
	Logger *slog.Logger
}

// Policy decides what may be reached.
type Policy struct {
	cfg    Config
	dialer net.Dialer
	log    *slog.Logger
}

// New makes a client for one policy. It is NewPolicy and Client in one.
func New(cfg Config) (*http.Client, error) {
	p, err := NewPolicy(cfg)
	if err != nil {
		return nil, err
	}
	return p.Client(), nil
}

// NewPolicy checks a configuration and makes a policy of it.
func NewPolicy(cfg Config) (*Policy, error) {
	var errs []error
	for _, a := range cfg.Allow {
		errs = append(errs, a.check())
	}
	for _, ap := range cfg.Own {
		if !ap.Addr().IsValid() {
			errs = append(errs, errors.New("safedial: Config.Own has an address that is none"))
		}
	}
	for name, d := range map[string]time.Duration{
		"DialTimeout": cfg.DialTimeout, "TLSTimeout": cfg.TLSTimeout,
		"HeaderTimeout": cfg.HeaderTimeout, "StallTimeout": cfg.StallTimeout,
	} {
		if d < 0 {
			errs = append(errs, fmt.Errorf("safedial: Config.%s is negative", name))
		}
	}
	if slices.Contains(cfg.Ports, 0) {
		errs = append(errs, errors.New("safedial: Config.Ports has port 0"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	p := &Policy{cfg: withDefaults(cfg), log: cfg.Logger}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	p.dialer = net.Dialer{ControlContext: p.control}
	return p, nil
}

func withDefaults(cfg Config) Config {
	cfg.Ports, cfg.Allow, cfg.Own = slices.Clone(cfg.Ports), slices.Clone(cfg.Allow), slices.Clone(cfg.Own)
	if len(cfg.Ports) == 0 {
		cfg.Ports = []uint16{80, 443}
	}
	if cfg.MaxRedirects == 0 {
		cfg.MaxRedirects = 3
	}
	if cfg.MaxBody == 0 {
		cfg.MaxBody = 16 << 20
	}
	for _, d := range []struct {
		field *time.Duration
		zero  time.Duration
	}{
		{&cfg.DialTimeout, 10 * time.Second},
		{&cfg.TLSTimeout, 10 * time.Second},
		{&cfg.HeaderTimeout, 30 * time.Second},
		{&cfg.StallTimeout, time.Minute},
		{&cfg.Timeout, time.Minute},
	} {
		if *d.field == 0 {
			*d.field = d.zero
		}
	}
	if cfg.Resolve == nil {
		cfg.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	return cfg
}
