package adminapi

import (
	"cmp"
	"net/http"
	"reflect"
	"slices"
	"time"

	"llmgw.io/llmgw/adminapi/auth"
)

// Base is the path under which every route but the probes stands.
const Base = "/api/v1"

// Limits of bodies.
const (
	oneField  = 4 << 10
	small     = 64 << 10
	wholeForm = 1 << 20
)

// route is one row of the table. The mux, the OpenAPI document, and what the
// typed client and the commands must have, all come from it.
type route struct {
	method, pattern string
	// name is the action in the audit log.
	name string
	// op names the route in the document and in the client.
	op    string
	scope auth.Scope
	needs part
	// summary is a line, also shown by the command's help.
	summary     string
	description string
	// what names the body in messages: "the scaling request".
	what  string
	limit int64
	// status of a good answer. Zero: 200.
	status int
	query  []param
	// etag marks answers that carry one, and changes that If-Match guards.
	etag bool
	// long replaces usualWait where there is much to look at. Zero: it does not.
	long time.Duration
	endpoint
}

// param is a parameter of the query.
type param struct {
	name, doc string
	kind      string // string, integer or boolean
	required  bool
}

// endpoint is what serves a route, with the types it takes and gives.
type endpoint struct {
	// in and out are nil where there is no body.
	in, out reflect.Type
	// media is the answer's type. Empty: JSON.
	media string
	serve func(a *API, c *call) error
}

// answers serves a route without a body of its own.
func answers[Out any](f func(*API, *call) (Out, error)) endpoint {
	return endpoint{out: reflect.TypeFor[Out](), serve: func(a *API, c *call) error {
		out, err := f(a, c)
		if err != nil {
			return err
		}
		return c.answer(out)
	}}
}

// takes serves a route with a JSON body.
func takes[In, Out any](f func(*API, *call, In) (Out, error)) endpoint {
	return endpoint{in: reflect.TypeFor[In](), out: reflect.TypeFor[Out](), serve: func(a *API, c *call) error {
		var in In
		if err := c.decode(&in); err != nil {
			return err
		}
		out, err := f(a, c, in)
		if err != nil {
			return err
		}
		return c.answer(out)
	}}
}

// writes serves a route that writes its answer itself.
func writes(media string, f func(*API, *call) error) endpoint {
	return endpoint{media: media, serve: f}
}

// Route is a row of the table as others may see it.
type Route struct {
	Method  string
	Pattern string // under Base
	// Name is the action in the audit log; Operation names the route in the
	// document and in the typed client.
	Name, Operation string
	Summary         string
	Scope           auth.Scope
	// Needs is the part without which the route answers 501. Empty: none.
	Needs string
}

// Routes lists the whole table, whatever is wired in.
func Routes() []Route {
	var out []Route
	for _, r := range table() {
		out = append(out, Route{
			Method: r.method, Pattern: r.pattern, Name: r.name, Operation: r.op, Summary: r.summary, Scope: r.scope, Needs: string(r.needs),
		})
	}
	return out
}

// table is the one list of routes.
func table() []route {
	return slices.Concat(clusterRoutes(), nodeRoutes(), modelRoutes(), scalingRoutes(), replicaRoutes(), facilityRoutes(), fabricRoutes(), testRoutes(), upgradeRoutes(), weightsRoutes(), trafficRoutes(), keyRoutes(), tokenRoutes())
}

// code is the status of a good answer.
func (r *route) code() int {
	if r.status == 0 {
		return http.StatusOK
	}
	return r.status
}

// usualWait is how long an answer may take to make. An order that nobody takes
// while the store is away would hold its caller for as long as that lasts.
const usualWait = 30 * time.Second

// within is how long an answer may take. Zero: it is a stream, which has bounds
// of its own.
func (r *route) within() time.Duration {
	if r.media != "" {
		return 0
	}
	return cmp.Or(r.long, usualWait)
}

// pages are the parameters of lists that can grow.
func pages(more ...param) []param {
	return append(more,
		param{name: "limit", kind: "integer", doc: "how many at most; 500 when left out, never more than 5000"},
		param{name: "cursor", kind: "string", doc: "where to go on: from the Link header of the answer before"})
}
