package adminapi

import (
	"context"
	"io"
	"net/http"
	"time"
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
