package router

import (
	"net/http"
	"slices"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router/openai"
	"llmgw.io/llmgw/storage"
)

// read answers a request that needs no replica. Such requests leave no row.
func (r *Router) read(w http.ResponseWriter, req *http.Request, answer func(*exchange) *failure) {
	x := r.begin(w, req, endpoint{name: "models"})
	x.stranger = true
	if f := x.readable(answer); f != nil {
		x.fail(f)
		return
	}
	x.row.Status, x.row.Outcome = http.StatusOK, storage.OutcomeOK
	x.settle("")
}

func (x *exchange) readable(answer func(*exchange) *failure) *failure {
	key, f := x.r.door.admit(x.req, x.addr)
	if f != nil {
		x.r.unknown.Add(1)
		return f
	}
	x.key = key
	return answer(x)
}

func (x *exchange) getOnly() *failure {
	if x.req.Method == http.MethodGet || x.req.Method == http.MethodHead {
		return nil
	}
	x.w.Header().Set("Allow", http.MethodGet)
	f := refused(openai.InvalidRequest, "method_not_allowed", "This path takes GET only.")
	f.status = http.StatusMethodNotAllowed
	return f
}

// listModels answers GET /v1/models with every name that the key may use.
func (r *Router) listModels(x *exchange) *failure {
	if f := x.getOnly(); f != nil {
		return f
	}
	index := r.cfg.Models.Index()
	var list []openai.Model
	for _, name := range index.Names() {
		if entry, ok := index.Resolve(name); ok && x.mayUse(name, entry) {
			list = append(list, modelView(name, entry))
		}
	}
	x.json(http.StatusOK, openai.AppendModels(nil, list))
	return nil
}

// getModel answers GET /v1/models/{name}.
func (x *exchange) getModel(name catalog.Name) *failure {
	if f := x.getOnly(); f != nil {
		return f
	}
	entry, ok := x.r.cfg.Models.Index().Resolve(name)
	if !ok || !x.mayUse(name, entry) {
		return noSuchModel(name)
	}
	x.json(http.StatusOK, modelView(name, entry).Append(nil))
	return nil
}

// modelView is a model as clients see it, under the name they use.
func modelView(name catalog.Name, e *catalog.Entry) openai.Model {
	m := openai.Model{ID: string(name), OwnedBy: e.Model.Owner, ContextLength: int64(e.Model.ContextLength), Capabilities: e.Model.Capabilities}
	if m.OwnedBy == "" {
		m.OwnedBy = "llmgw"
	}
	if !e.UpdatedAt.IsZero() {
		m.Created = e.UpdatedAt.Unix()
	}
	if isAdapter(&e.Model, name) {
		m.Root, m.Parent = string(e.Model.Name), string(e.Model.Name)
	}
	return m
}

func isAdapter(m *catalog.Model, name catalog.Name) bool {
	return slices.ContainsFunc(m.Adapters, func(a catalog.Adapter) bool { return a.Name == name })
}

// json answers with a whole body.
func (x *exchange) json(status int, body []byte) {
	x.w.Header().Set("Content-Type", "application/json")
	x.out.send(status, body)
}
