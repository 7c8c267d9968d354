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

	"llmgw.io/llmgw/internal/socket"
)

// Bounds of every server; a body's are the handlers'.
const (
	headerTimeout = 10 * time.Second
	headerBytes   = 32 << 10
	idleTimeout   = 120 * time.Second
)

// How long requests that run may go on after the end was ordered: answers of
// models are long, those to people are short unless they follow a log, and
// agents ask again by themselves.
const (
	clientGrace = 30 * time.Second
	adminGrace  = 3 * time.Second
	agentsGrace = 0
	// lastWords is how long those that were cut off have to say so.
	lastWords = 5 * time.Second
)

// server is one listener with its handler.
type server struct {
	name     string
	listener net.Listener
	handler  http.Handler
	tls      *tls.Config // nil: plain HTTP
	// grace is how long running requests may go on after the end was ordered.
	// Zero: they are cut off at once.
	grace  time.Duration
	logger *slog.Logger
}

// run serves until ctx ends, then lets running requests finish for a while.
func (s server) run(ctx context.Context) error {
	base, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	srv := &http.Server{
		Handler:           s.handler,
		TLSConfig:         s.tls,
		ReadHeaderTimeout: headerTimeout,
		MaxHeaderBytes:    headerBytes,
		IdleTimeout:       idleTimeout,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          slog.NewLogLogger(s.logger.Handler(), slog.LevelDebug),
	}
	s.logger.Info("listening", "listener", s.name, "address", s.listener.Addr().String(), "tls", s.tls != nil)
	done := make(chan error, 1)
	go func() {
		if s.tls != nil {
			done <- srv.ServeTLS(socket.Listener(s.listener), "", "")
			return
		}
		done <- srv.Serve(socket.Listener(s.listener))
	}()
	select {
	case err := <-done:
		return fmt.Errorf("serve %s: %w", s.name, err)
	case <-ctx.Done():
	}
	defer time.AfterFunc(s.grace, cut).Stop()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.grace+lastWords)
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
// either changes, so that a renewal needs no restart.
type certificateFiles struct {
	cert, key string
	logger    *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	// read are the times of both files when current was read.
	read   [2]int64
	looked time.Time
	// told is the last complaint, so that each is logged once.
	told string
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
	if err := c.refresh(); err != nil {
		err = fmt.Errorf("read the certificate %s and its key %s: %w", c.cert, c.key, err)
		if c.current == nil {
			return nil, err
		}
		// The old one serves on while its files are being replaced.
		if c.told != err.Error() {
			c.logger.Warn("a new certificate cannot be used; the old one stays in force", "err", err)
		}
		c.told = err.Error()
	}
	return c.current, nil
}

// refresh reads both files when either has another time than at the last
// reading.
func (c *certificateFiles) refresh() error {
	var times [2]int64
	for i, path := range []string{c.cert, c.key} {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		times[i] = info.ModTime().UnixNano()
	}
	if c.current != nil && times == c.read {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return err
	}
	if c.current != nil {
		c.logger.Info("a new certificate is in force", "file", c.cert)
	}
	c.current, c.read, c.told = &pair, times, ""
	return nil
}
