package adminapi

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"

	"llmgw.io/llmgw/adminapi/auth"
	"llmgw.io/llmgw/adminapi/view"
)

// handler serves a request or says why not; id is the request's own.
type handler func(w http.ResponseWriter, r *http.Request, id string) error

// guard is around every handler: it names the request, refuses what a page of
// others sends, turns errors into answers, and keeps a panic from taking the
// process along.
func (a *API) guard(next handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id := rand.Text()[:16]
		h := w.Header()
		h.Set("X-Request-Id", id)
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		defer a.recovered(w, r, id)
		err := a.foreign(r)
		if err == nil {
			err = next(w, r, id)
		}
		if err != nil {
			a.refused(w, r, err, id)
		}
	}
}

// recovered answers for a panic. An abort is passed on: it is how a stream that
// broke off is kept from looking whole.
func (a *API) recovered(w http.ResponseWriter, r *http.Request, id string) {
	v := recover()
	if v == nil {
		return
	}
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(v)
	}
	a.refused(w, r, fmt.Errorf("panic: %v\n%s", v, debug.Stack()), id)
}

// refused writes the error view. What is our own fault goes to the log, and
// only its id to the caller. A request that was cut off is answered too: it may
// be this process that ends, and no answer at all would look like success.
func (a *API) refused(w http.ResponseWriter, r *http.Request, err error, id string) {
	refusal, log := judge(err, id)
	if log {
		a.cfg.Logger.Error("an admin request failed", "id", id, "method", r.Method, "path", r.URL.Path, "err", err)
	}
	for k, v := range refusal.header {
		w.Header()[k] = v
	}
	_ = writeJSON(w, refusal.status, view.Error{Error: refusal.text, Code: string(refusal.code)})
}

// foreign refuses requests that a browser sends for a page of others: by a name
// that is not ours, which is how such a page reaches a listener on loopback, or
// from another origin.
func (a *API) foreign(r *http.Request) error {
	if !a.knownHost(r.Host) {
		return refuse(http.StatusForbidden, codeForbidden, "this control plane does not answer to the host name %q; use its address, or add the name to listen.admin.names of its configuration", clip(r.Host))
	}
	if err := a.cross.Check(r); err != nil {
		return refuse(http.StatusForbidden, codeForbidden, "this request comes from a page of another origin; send it from a client of your own")
	}
	return nil
}

// knownHost takes any address, localhost, and the names that were configured.
func (a *API) knownHost(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || slices.Contains(a.cfg.Hosts, "*") {
		return true
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	return slices.ContainsFunc(a.cfg.Hosts, func(h string) bool { return strings.EqualFold(h, host) })
}

// lacksScope says which role would do.
func lacksScope(who auth.Identity, row *route) error {
	return refuse(http.StatusForbidden, codeForbidden, "%s has the role %s, and this needs the scope %s; use a token with the role %s",
		who.Principal, who.Role, row.scope, auth.LeastRole(row.scope))
}
