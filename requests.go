package llmgw

import (
	"context"
	"errors"
	"net/http"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router"
)

// RequestRouter serves requests alone: declared models whose replicas others
// run, for declared keys and those of its own store. It starts no engine, hears
// no agent and has no admin API.
type RequestRouter struct {
	cfg     Config
	catalog *catalog.Service
	router  *router.Router
}

// NewRequestRouter wires a router over a store. Every declared model must have a
// static profile, since nothing else could serve it.
func NewRequestRouter(ctx context.Context, cfg Config) (*RequestRouter, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := servedByOthers(cfg.Settings.Models); err != nil {
		return nil, err
	}
	r := &RequestRouter{cfg: cfg}
	if r.catalog, err = catalog.NewService(ctx, catalog.ServiceConfig{Declared: cfg.Settings.Models, ClassAliases: cfg.Settings.ClassAliases, Logger: cfg.Logger}); err != nil {
		return nil, err
	}
	rc := routerConfig(cfg)
	rc.Models, rc.Keys, rc.Usage = r.catalog, cfg.Store, cfg.Store
	if r.router, err = router.New(rc); err != nil {
		return nil, err
	}
	return r, nil
}

func servedByOthers(models []catalog.Model) error {
	var all []error
	for i := range models {
		static := false
		for j := range models[i].Profiles {
			static = static || !models[i].Profiles[j].Managed()
		}
		if !static {
			all = append(all, &catalog.InvalidError{
				Model: models[i].Name, Field: "profiles",
				Problem: "a router alone starts no engine; give it a profile of engine static, or run llmgw-control serve",
			})
		}
	}
	return errors.Join(all...)
}

// OpenAI is what clients speak to.
func (r *RequestRouter) OpenAI() http.Handler { return r.router }

// Run probes endpoints and ships usage until ctx ends.
func (r *RequestRouter) Run(ctx context.Context) error { return r.router.Run(ctx) }

// Reload takes a new configuration file; only its models are put in force.
func (r *RequestRouter) Reload(f File) (changes []string, err error) {
	if err := servedByOthers(f.Models); err != nil {
		return nil, err
	}
	return r.catalog.Reload(f.Models)
}

// ListenAndServe listens for clients and runs until ctx ends; ready is told the
// address once it listens.
func (r *RequestRouter) ListenAndServe(ctx context.Context, ready func(Addresses)) error {
	o := opener{logger: r.cfg.Logger}
	a := Addresses{Client: o.web(server{name: "client", handler: r.router, grace: clientGrace}, r.cfg.Settings.Listen.Client, defaultClient)}
	o.profiles(r.cfg.Settings.Debug.PProf)
	servers, err := o.opened()
	if err != nil {
		return err
	}
	if ready != nil {
		ready(a)
	}
	return serveThenStop(ctx, servers, r.Run)
}
