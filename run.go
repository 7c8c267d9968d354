package llmgw

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"path/filepath"
	"sync"
	"time"

	"llmgw.io/llmgw/internal/durable"
	"llmgw.io/llmgw/inventory"
)

// Addresses are where a process listens. Parts that do not listen are empty.
type Addresses struct {
	// Client, Admin and Agents are URLs, as this machine reaches them.
	Client string `json:"client,omitempty"`
	Admin  string `json:"admin,omitempty"`
	Agents string `json:"agents,omitempty"`
}

// Where a process listens when nothing is said.
const (
	defaultClient = ":8080"
	defaultAdmin  = "127.0.0.1:7070"
	defaultAgents = ":7443"
)

// AddressesFile is where ListenAndServe writes the addresses, in the data
// folder, so that tools on the same machine find them.
const AddressesFile = "addresses.json"

// Run keeps the fleet as it should be until ctx ends. It listens nowhere: the
// handlers are served by the caller, or see ListenAndServe.
func (c *ControlPlane) Run(ctx context.Context) error {
	return errors.Join(together(ctx, c.registry.Run, c.hub.Run, c.survey.Run, c.inspect, c.loop.Run, c.router.Run), c.closeJournal())
}

// ListenAndServe listens where the settings say, and runs everything until ctx
// ends. Requests that run then may finish; ready, when it is not nil, is told
// the addresses once all of them listen.
func (c *ControlPlane) ListenAndServe(ctx context.Context, ready func(Addresses)) error {
	servers, addresses, err := c.listeners()
	if err != nil {
		return err
	}
	if c.cfg.DataDir != "" {
		if err := writeAddresses(c.cfg.DataDir, addresses); err != nil {
			return errors.Join(err, closeAll(servers))
		}
	}
	if ready != nil {
		ready(addresses)
	}
	return serveThenStop(ctx, servers, c.Run)
}

// listeners opens every listener, or none.
func (c *ControlPlane) listeners() ([]server, Addresses, error) {
	set := c.cfg.Settings.Listen
	o := opener{logger: c.logger}
	a := Addresses{
		Client: o.web(server{name: "client", handler: c.OpenAI(), grace: clientGrace}, set.Client, defaultClient),
		Admin:  o.web(server{name: "admin", handler: c.Admin(), grace: adminGrace}, set.Admin, defaultAdmin),
		Agents: o.agents(c, set.Agents),
	}
	o.profiles(c.cfg.Settings.Debug.PProf)
	servers, err := o.opened()
	return servers, a, err
}

// opener opens listeners and collects what goes wrong.
type opener struct {
	logger  *slog.Logger
	servers []server
	errs    []error
}

// opened answers every listener, or none and why.
func (o *opener) opened() ([]server, error) {
	if err := errors.Join(o.errs...); err != nil {
		return nil, errors.Join(err, closeAll(o.servers))
	}
	return o.servers, nil
}

// web opens a listener for people or clients and answers its URL.
func (o *opener) web(s server, l Listener, address string) string {
	if l.Address != "" {
		address = l.Address
	}
	scheme := "http"
	if l.TLS != nil {
		files := certificateFiles{cert: l.TLS.Cert, key: l.TLS.Key, logger: o.logger}
		conf, err := files.config()
		if err != nil {
			o.errs = append(o.errs, fmt.Errorf("listen.%s.tls: %w", s.name, err))
			return ""
		}
		s.tls, scheme = conf, "https"
	}
	return o.open(s, address, scheme)
}

// profiles opens the listener for profiles, when there is to be one.
func (o *opener) profiles(address string) {
	if address != "" {
		o.web(server{name: "debug", handler: profiles()}, Listener{Address: address}, "")
	}
}

// agents opens the agents' listener, over the cluster's own certificates.
func (o *opener) agents(c *ControlPlane, l Listener) string {
	conf, err := c.hub.TLS(append([]string{"localhost", "127.0.0.1", "::1"}, l.Names...))
	if err != nil {
		o.errs = append(o.errs, err)
		return ""
	}
	address := l.Address
	if address == "" {
		address = defaultAgents
	}
	return o.open(server{name: "agents", handler: c.hub.Handler(), tls: conf, grace: agentsGrace}, address, "https")
}

func (o *opener) open(s server, address, scheme string) string {
	ln, err := listen(s.name, address)
	if err != nil {
		o.errs = append(o.errs, err)
		return ""
	}
	s.listener, s.logger = ln, o.logger
	o.servers = append(o.servers, s)
	return scheme + "://" + local(ln.Addr())
}

// local is a listener's address as this machine reaches it.
func local(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// profiles serves net/http/pprof, without its registration on the default mux.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

func closeAll(servers []server) error {
	var errs []error
	for _, s := range servers {
		errs = append(errs, s.listener.Close())
	}
	return errors.Join(errs...)
}

// writeAddresses leaves a note for tools on this machine.
func writeAddresses(dir string, a Addresses) error {
	b, err := json.MarshalIndent(a, "", "  ")
	if err != nil {
		return err
	}
	if err := writeSecret(filepath.Join(dir, AddressesFile), string(b)+"\n", durable.WriteFile); err != nil {
		return fmt.Errorf("write the addresses down: %w", err)
	}
	return nil
}

// serveThenStop serves until ctx ends, and only then stops what the handlers
// stand on.
func serveThenStop(ctx context.Context, servers []server, parts func(context.Context) error) error {
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	runs := make([]func(context.Context) error, 0, len(servers)+1)
	var serving sync.WaitGroup
	serving.Add(len(servers))
	for _, s := range servers {
		runs = append(runs, func(ctx context.Context) error {
			defer serving.Done()
			return s.run(ctx)
		})
	}
	runs = append(runs, func(outer context.Context) error {
		context.AfterFunc(outer, func() {
			serving.Wait()
			stop()
		})
		return parts(inner)
	})
	return together(ctx, runs...)
}

// together runs parts until ctx ends; the first that fails ends the others. The
// end of ctx itself is no failure, but what a part says of its own end is kept.
func together(ctx context.Context, parts ...func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(parts))
	var wg sync.WaitGroup
	for i, part := range parts {
		wg.Go(func() {
			err := part(ctx)
			if err == nil || (ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Canceled))) {
				return
			}
			errs[i] = err
			cancel()
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// joinTokenLife is how long a permission to join lasts.
const joinTokenLife = time.Hour

// JoinToken makes a one-time permission to join, as the admin API does, for a
// caller that runs an agent beside the control plane.
func (c *ControlPlane) JoinToken(ctx context.Context, by inventory.Author) (string, error) {
	s, err := c.newJoinToken()
	if err != nil {
		return "", err
	}
	now := time.Now()
	t := inventory.JoinToken{ID: s.ID, Hash: s.Hash, CreatedBy: by.Principal, CreatedAt: now, ExpiresAt: now.Add(joinTokenLife)}
	if err := c.cfg.Store.CreateJoinToken(ctx, t, by); err != nil {
		return "", fmt.Errorf("make a join token: %w", err)
	}
	return s.Token, nil
}
