package adminapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"llmgw.io/llmgw/adminapi/auth"
	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// call is one request on its way through a route.
type call struct {
	api   *API
	route *route
	w     http.ResponseWriter
	r     *http.Request
	who   auth.Identity
	id    string
	now   time.Time
}

// author says who changes something, for the audit log.
func (c *call) author(reason string) inventory.Author {
	return inventory.Author{
		Principal: c.who.Principal, Claimed: cleanActor(c.r.Header.Get(actorHeader)), Reason: reason, Action: c.route.name, RequestID: c.id,
	}
}

// world is the newest look, as the caller may see it.
func (c *call) world() view.World {
	a := c.api
	w := view.World{View: a.look(), Now: c.now, Stored: a.cfg.Store != nil}
	if a.cfg.Statics != nil {
		w.Statics = a.cfg.Statics.Statics()
	}
	if a.cfg.Looks != nil {
		w.Looks = a.cfg.Looks.Look
	}
	if c.who.Has(auth.Secrets) {
		w.EngineKey = a.cfg.EngineKey
	}
	return w
}

// look is the newest look at the cluster, with the newest catalog and nodes in
// it: a model that was just added, or a place that was just held, is shown
// before the loop has come round to it.
func (a *API) look() *reconciler.View {
	v := *a.cfg.Cluster.View()
	if a.cfg.Models != nil {
		v.Catalog = a.cfg.Models.Index()
	}
	if a.fleet != nil {
		v.Fleet = a.fleet.Snapshot()
	}
	if v.Catalog == nil {
		v.Catalog = catalog.NewIndex(0, nil)
	}
	if v.Fleet == nil {
		v.Fleet = inventory.NewSnapshot(0, nil)
	}
	return &v
}

// param is a parameter of the path, decoded exactly once. The router gives the
// raw text where the path was sent with escapes that matter (RawPath is set
// then), and the decoded one where it was not; decoding the latter again would
// turn a%252F into a slash.
func (c *call) param(name string) string {
	v := chi.URLParam(c.r, name)
	if c.r.URL.RawPath == "" {
		return v
	}
	decoded, err := url.PathUnescape(v)
	if err != nil {
		return v
	}
	return decoded
}

// number is a whole number of the query; fallback when it is left out.
func (c *call) number(name string, fallback int) (int, error) {
	s := c.r.URL.Query().Get(name)
	if s == "" {
		return fallback, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, invalid("%s must be a whole number, not %q", name, clip(s))
	}
	return n, nil
}

// flag is a yes or no of the query; no when it is left out, yes when it stands
// there without a value.
func (c *call) flag(name string) (bool, error) {
	q := c.r.URL.Query()
	if !q.Has(name) {
		return false, nil
	}
	s := q.Get(name)
	if s == "" {
		return true, nil
	}
	b, err := strconv.ParseBool(s)
	if err != nil {
		return false, invalid("%s must be true or false, not %q", name, clip(s))
	}
	return b, nil
}

// clip keeps a foreign text short enough to repeat.
func clip(s string) string {
	const longest = 64
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "…"
}

// answer writes JSON with the route's status.
func (c *call) answer(v any) error { return writeJSON(c.w, c.route.code(), v) }

// writeJSON encodes before it writes, so that a failure can still be told.
func writeJSON(w http.ResponseWriter, status int, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("encode an answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A caller that does not read must not hold a goroutine for good. Not every
	// connection knows deadlines, and one that has gone away needs no answer.
	rc := http.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Now().Add(writeAnswer))
	_, _ = w.Write(b.Bytes())
	_ = rc.SetWriteDeadline(time.Time{})
	return nil
}

// writeAnswer is how long a caller may take to read an answer.
const writeAnswer = time.Minute

// etag shows the revision of what is answered.
func (c *call) etag(revision int64) {
	c.w.Header().Set("ETag", `"`+strconv.FormatInt(revision, 10)+`"`)
}

// expected is the revision that If-Match guards; nil when any will do.
func (c *call) expected() (*int64, error) {
	s := strings.TrimSpace(c.r.Header.Get("If-Match"))
	if s == "" || s == "*" {
		return nil, nil
	}
	quoted, ok := strings.CutPrefix(s, `"`)
	quoted, end := strings.CutSuffix(quoted, `"`)
	n, err := strconv.ParseInt(quoted, 10, 64)
	if !ok || !end || err != nil {
		return nil, refuse(http.StatusPreconditionFailed, codeStale, "If-Match is no revision that was ever given out; send the ETag of the answer you read, or leave it out")
	}
	return &n, nil
}
