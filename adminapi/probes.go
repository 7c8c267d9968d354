package adminapi

import (
	"context"
	"io"
	"net/http"
	"time"

	"llmgw.io/llmgw/adminapi/auth"
)

// readyLimit is how long the store may take to say that it is there.
const readyLimit = 2 * time.Second

// healthz says that the process answers.
func (a *API) healthz(w http.ResponseWriter, _ *http.Request) { probe(w, http.StatusOK, "ok\n") }

// readyz says that requests will be served: the store can be reached. It names
// no inner error, since it asks for no credential.
func (a *API) readyz(w http.ResponseWriter, r *http.Request) {
	if a.cfg.Store != nil {
		ctx, cancel := context.WithTimeout(r.Context(), readyLimit)
		defer cancel()
		if err := a.cfg.Store.Ping(ctx); err != nil {
			a.cfg.Logger.Warn("the store does not answer", "err", err)
			probe(w, http.StatusServiceUnavailable, "the store does not answer\n")
			return
		}
	}
	probe(w, http.StatusOK, "ok\n")
}

// metrics answers a scrape. Loopback is not trust: names of models and how much
// they are used are for those who may read.
func (a *API) metrics(w http.ResponseWriter, r *http.Request, _ string) error {
	who, err := a.cfg.Auth.Authenticate(r)
	switch {
	case err != nil:
		return err
	case !who.Has(auth.Read):
		return refuse(http.StatusForbidden, codeForbidden, "%s may not read; use a token with the role %s", who.Principal, auth.LeastRole(auth.Read))
	case a.cfg.Metrics == nil:
		return refuse(http.StatusNotImplemented, codeNotWired, "this process has no metrics to scrape; give the configuration of the control plane a Metrics handler")
	}
	a.cfg.Metrics.ServeHTTP(w, r)
	return nil
}

func probe(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

// openapi answers the document.
func (a *API) openapi(c *call) error {
	c.w.Header().Set("Content-Type", c.route.media)
	_, _ = c.w.Write(a.doc)
	return nil
}
