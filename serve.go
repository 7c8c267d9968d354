package llmgw

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// Bounds of every server; a body's are the handlers'.
const (
	headerTimeout = 10 * time.Second
	headerBytes   = 32 << 10
	idleTimeout   = 120 * time.Second
	// grace is how long requests that run may go on after the end was ordered.
	grace = 30 * time.Second
)

// server is one listener with its handler.
type server struct {
	name     string
	listener net.Listener
	handler  http.Handler
	tls      *tls.Config // nil: plain HTTP
	// base ends running requests with it. Nil: they may finish.
	base   context.Context //nolint:containedctx // it is the server's own, for the time of run
	logger *slog.Logger
}

// run serves until ctx ends, then lets running requests finish for a while.
func (s server) run(ctx context.Context) error {
	srv := &http.Server{
		Handler:           s.handler,
		TLSConfig:         s.tls,
		ReadHeaderTimeout: headerTimeout,
		MaxHeaderBytes:    headerBytes,
		IdleTimeout:       idleTimeout,
		ErrorLog:          slog.NewLogLogger(s.logger.Handler(), slog.LevelDebug),
	}
	if s.base != nil {
		srv.BaseContext = func(net.Listener) context.Context { return s.base }
	}
	s.logger.Info("listening", "listener", s.name, "address", s.listener.Addr().String(), "tls", s.tls != nil)
	done := make(chan error, 1)
	go func() {
		if s.tls != nil {
			done <- srv.ServeTLS(s.listener, "", "")
			return
		}
		done <- srv.Serve(s.listener)
	}()
	select {
	case err := <-done:
		return fmt.Errorf("serve %s: %w", s.name, err)
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := srv.Shutdown(end); err != nil {
		s.logger.Warn("requests were cut off at the end", "listener", s.name, "err", err)
		return errors.Join(srv.Close(), drop(<-done))
	}
	return drop(<-done)
}

// drop forgets the error that only says that the server was closed.
func drop(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// listen opens an address and says in a sentence why it cannot.
func listen(name, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for %s at %s: %w; change listen.%s.address, or stop what uses it", name, address, err, name)
	}
	return l, nil
}

// certificateFiles serves a certificate from files and reads them again when
// they change, so that a renewal needs no restart.
type certificateFiles struct {
	cert, key string

	mu      sync.Mutex
	current *tls.Certificate
	read    time.Time // of the newer file
	looked  time.Time
}

// config is a server's TLS configuration over the files; they are read at once,
// so that a wrong path fails the start.
func (c *certificateFiles) config() (*tls.Config, error) {
	if _, err := c.get(nil); err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get, NextProtos: []string{"h2", "http/1.1"}}, nil
}

// get answers the newest certificate that could be read; it looks at the files
// once a second at most.
func (c *certificateFiles) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current != nil && time.Since(c.looked) < time.Second {
		return c.current, nil
	}
	c.looked = time.Now()
	newest := time.Time{}
	for _, path := range []string{c.cert, c.key} {
		info, err := os.Stat(path)
		if err != nil {
			return c.orOld(err)
		}
		if info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	if c.current != nil && newest.Equal(c.read) {
		return c.current, nil
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return c.orOld(err)
	}
	c.current, c.read = &pair, newest
	return c.current, nil
}

// orOld keeps serving the certificate that is there while its files are being
// replaced.
func (c *certificateFiles) orOld(err error) (*tls.Certificate, error) {
	if c.current != nil {
		return c.current, nil
	}
	return nil, fmt.Errorf("read the certificate %s and its key %s: %w", c.cert, c.key, err)
}
