package adminapi

import (
	"context"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
)

// API is the management surface, an http.Handler.
type API struct {
	cfg     Config
	parts   map[part]bool
	records Requests  // nil where the usage's owner cannot find single ones
	fleet   Snapshots // nil where the loop's look at nodes is all there is
	doc     []byte
	cross   *http.CrossOriginProtection
	root    chi.Router
	routes  chi.Router
}

// New checks the configuration and builds every route.
func New(cfg Config) (*API, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	doc, err := Document(cfg.Version)
	if err != nil {
		return nil, err
	}
	a := &API{cfg: cfg, doc: doc, cross: http.NewCrossOriginProtection()}
	a.records, _ = cfg.Usage.(Requests)
	a.fleet, _ = cfg.Nodes.(Snapshots)
	a.parts = a.wired()
	a.routes = a.mux()
	a.root = chi.NewRouter()
	for path, probe := range map[string]http.HandlerFunc{"/healthz": a.healthz, "/readyz": a.readyz} {
		a.root.Get(path, probe)
		a.root.Head(path, probe)
	}
	a.root.Get("/metrics", a.guard(a.metrics))
	a.root.Mount(Base, a.routes)
	a.root.NotFound(a.guard(a.notFound))
	a.root.MethodNotAllowed(a.guard(a.notFound))
	return a, nil
}

// ServeHTTP serves everything under Base, the probes /healthz and /readyz, and
// /metrics.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.root.ServeHTTP(w, r) }

// Mount puts everything under Base into another program's router, without the
// probes and the metrics, which are that program's own.
func (a *API) Mount(r chi.Router) { r.Mount(Base, a.routes) }

// mux makes the router from the table.
func (a *API) mux() chi.Router {
	m := chi.NewRouter()
	rows := table()
	for i := range rows {
		h := a.guard(a.serve(&rows[i]))
		m.Method(rows[i].method, rows[i].pattern, h)
		// What is not a stream can be asked for its header alone.
		if rows[i].method == http.MethodGet && rows[i].media == "" {
			m.Method(http.MethodHead, rows[i].pattern, h)
		}
	}
	m.NotFound(a.guard(a.notFound))
	m.MethodNotAllowed(a.guard(a.wrongMethod))
	return m
}

// serve makes the handler of one row: who is it, may they, is the part there,
// then the row's own.
func (a *API) serve(row *route) handler {
	return func(w http.ResponseWriter, r *http.Request, id string) error {
		if within := row.within(); within > 0 {
			ctx, cancel := context.WithTimeout(r.Context(), within)
			defer cancel()
			r = r.WithContext(ctx)
		}
		who, err := a.cfg.Auth.Authenticate(r)
		if err != nil {
			return err
		}
		if !who.Has(row.scope) {
			return lacksScope(who, row)
		}
		if err := a.require(row.needs); err != nil {
			return err
		}
		c := &call{api: a, route: row, w: w, r: r, who: who, id: id, now: time.Now()}
		return row.endpoint.serve(a, c)
	}
}

func (a *API) notFound(_ http.ResponseWriter, r *http.Request, _ string) error {
	return missing("there is no route %s %s; GET %s/openapi.json lists them", r.Method, clip(r.URL.Path), Base)
}

// wrongMethod says which methods a path has.
func (a *API) wrongMethod(w http.ResponseWriter, r *http.Request, _ string) error {
	path := chi.RouteContext(r.Context()).RoutePath
	for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete} {
		if a.routes.Match(chi.NewRouteContext(), m, path) {
			w.Header().Add("Allow", m)
		}
	}
	return refuse(http.StatusMethodNotAllowed, codeInvalid, "%s is not possible here; the Allow header says what is", r.Method)
}
