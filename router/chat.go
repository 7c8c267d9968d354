package router

import (
	"net/http"
	"strings"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router/openai"
)

// endpoint is a route that carries a body to a replica.
type endpoint struct {
	path openai.Endpoint
	// name is what rows call it.
	name string
	// streams tells whether answers may come as events.
	streams bool
}

var chat = endpoint{path: openai.Chat, name: "chat", streams: true}

// serve carries one request to a replica and back. Its steps, in this order:
// who asks, what the body says, which model it is, whether the key may use it,
// and then the replicas, until one has answered. The row is written on the way
// out, whatever happened. Of a stream the rest is carried here.
func (r *Router) serve(w http.ResponseWriter, req *http.Request, ep endpoint) {
	x := r.begin(w, req, ep)
	defer x.end()
	for _, step := range [...]func(*exchange) *failure{
		(*exchange).method,
		(*exchange).who,
		(*exchange).scan,
		(*exchange).model,
		(*exchange).begun,
		(*exchange).carry,
	} {
		if f := step(x); f != nil {
			x.fail(f)
			return
		}
	}
}

func (x *exchange) method() *failure {
	if x.req.Method == http.MethodPost {
		return nil
	}
	x.w.Header().Set("Allow", http.MethodPost)
	f := refused(openai.InvalidRequest, "method_not_allowed", "This path takes POST only.")
	f.status = http.StatusMethodNotAllowed
	return f
}

// who finds the client's key.
func (x *exchange) who() *failure {
	key, f := x.r.door.admit(x.req, x.addr)
	x.key = key
	if f != nil && f.Type != openai.Permission {
		x.stranger = true
		x.r.unknown.Add(1)
	}
	return f
}

// scan reads the body and learns what the router has to know of it.
func (x *exchange) scan() *failure {
	if enc := x.req.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		f := refused(openai.InvalidRequest, "unsupported_encoding", "The body is encoded; send it without a Content-Encoding.")
		f.status = http.StatusUnsupportedMediaType
		return f
	}
	body, err := readBody(x.w, x.req, x.r.cfg.Limits.Body)
	if err != nil {
		return x.unread(err)
	}
	x.body = body
	err = x.asked.Scan(body.b, openai.Limits{MaxBytes: int(x.r.cfg.Limits.Body)})
	if err == nil {
		err = x.asked.Require(x.ep.path)
	}
	if err != nil {
		return unscanned(err)
	}
	return nil
}

// model finds what is asked for, and whether this key may ask for it. A key that
// is bound to some models learns nothing of others.
func (x *exchange) model() *failure {
	name := catalog.Name(x.asked.Model)
	entry, ok := x.r.cfg.Models.Index().Resolve(name)
	if !x.mayUse(name, entry) {
		return refused(openai.Permission, "model_not_allowed", "The API key may not use the model "+quote(name)+".")
	}
	if !ok {
		return noSuchModel(name)
	}
	x.entry = entry
	return nil
}

// mayUse reports whether the key allows a model by the name given or by its own.
func (x *exchange) mayUse(name catalog.Name, entry *catalog.Entry) bool {
	return x.key.Allows(string(name)) || entry != nil && x.key.Allows(string(entry.Model.Name))
}

func noSuchModel(name catalog.Name) *failure {
	f := refused(openai.NotFound, "model_not_found", "The model "+quote(name)+" does not exist; GET /v1/models lists those that do.")
	f.Param = "model"
	return f
}

// quote shows a name that a client sent, of which nothing is known, within
// reason.
func quote(name catalog.Name) string {
	const most = 2 * catalog.MaxName
	if len(name) > most {
		name = name[:most] + "…"
	}
	return "\"" + strings.ToValidUTF8(hideKeys(string(name)), "\uFFFD") + "\""
}
