package gate

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"llmgw.io/llmgw/internal/socket"
	"llmgw.io/llmgw/router/upstream"
)

const (
	// lastWords is how long answers that are in flight may go on after the end was
	// ordered. The agent has drained the gate by then.
	lastWords = 5 * time.Second
	// engineIdle is how long a connection to the engine is kept that nobody uses:
	// less than the 5 seconds after which engines close one.
	engineIdle = 2500 * time.Millisecond
	// routerIdle is longer than a router keeps one.
	routerIdle = time.Minute
)

// Gate is one gate.
type Gate struct {
	cfg    Config
	id     *identity
	list   []pass
	urls   map[string]*url.URL
	flight flight
	// kept reuses connections to the engine; fresh makes a new one for each request.
	kept, fresh *upstream.Pool
}

// New checks the configuration and reads the certificate. It opens nothing.
func New(cfg Config) (*Gate, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	g := &Gate{
		cfg: cfg, id: &identity{path: cfg.Identity, log: cfg.Logger}, list: passes(), urls: map[string]*url.URL{},
		kept: upstream.New(upstream.Config{Idle: engineIdle}), fresh: upstream.New(upstream.Config{Idle: time.Nanosecond}),
	}
	for _, p := range g.list {
		g.urls[p.path] = &url.URL{Scheme: "http", Host: cfg.Engine, Path: p.path}
	}
	_, err := g.id.config(nil)
	return g, err
}

// Run serves until ctx ends, and lets what is in flight finish then, for a few
// seconds. It fails where it cannot listen.
func (g *Gate) Run(ctx context.Context) error {
	lc := net.ListenConfig{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3},
		Control:         noticeSilence,
	}
	routers, err := lc.Listen(ctx, "tcp", g.cfg.Listen)
	if err != nil {
		return fmt.Errorf("gate: nobody can be let in at %s: %w", g.cfg.Listen, err)
	}
	g.cfg.Listen = routers.Addr().String() // where the port was left to the kernel
	agent, err := listenSocket(g.cfg.Dir)
	if err != nil {
		return errors.Join(fmt.Errorf("gate: the agent cannot be listened to: %w", err), routers.Close())
	}
	// What strangers do at the door is counted by nobody and logged by nobody.
	quiet := log.New(io.Discard, "", 0)
	front := &http.Server{
		Handler: g, ErrorLog: quiet, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: routerIdle, MaxHeaderBytes: 16 << 10,
		Protocols: http1(),
	}
	back := &http.Server{Handler: g.agentsRoutes(), ErrorLog: quiet, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 10 * time.Second, Protocols: http1()}
	conf := &tls.Config{MinVersion: tls.VersionTLS13, GetConfigForClient: g.id.config}
	done := make(chan error, 2)
	var served sync.WaitGroup
	served.Go(func() { done <- front.Serve(tls.NewListener(socket.Listener(routers), conf)) })
	served.Go(func() { done <- back.Serve(agent) })
	g.cfg.Logger.Info("gate open", "shard", g.cfg.Shard, "address", routers.Addr().String(), "ends", g.id.until())
	select {
	case err = <-done:
	case <-ctx.Done():
		g.flight.draining.Store(true)
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
		_ = front.Shutdown(end) // what is left is cut off below
		cancel()
	}
	_, _ = front.Close(), back.Close()
	served.Wait()
	g.kept.CloseIdle()
	g.fresh.CloseIdle()
	return err
}

func http1() *http.Protocols {
	p := &http.Protocols{}
	p.SetHTTP1(true)
	return p
}
