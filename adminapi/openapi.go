package adminapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"llmgw.io/llmgw/adminapi/auth"
	"llmgw.io/llmgw/adminapi/view"
)

// object is a JSON object of the document; encoding sorts its keys, so that the
// document is the same every time.
type object = map[string]any

// Document is the OpenAPI 3.1 document of every route that is built, made from
// the table and the types it names. It needs no running control plane.
func Document(version string) ([]byte, error) {
	s := schemas{components: object{}}
	paths := object{
		"/healthz": probeDoc("Live", "Say that the process answers"),
		"/readyz":  probeDoc("Ready", "Say that requests will be served"),
		"/metrics": metricsDoc(),
	}
	for _, r := range table() {
		path := Base + r.pattern
		ops, ok := paths[path].(object)
		if !ok {
			ops = object{}
			paths[path] = ops
		}
		ops[strings.ToLower(r.method)] = operation(&r, &s)
	}
	s.of(reflect.TypeFor[view.Error]())
	doc := object{
		"openapi": "3.1.0",
		"info": object{
			"title": "llmgw admin API", "version": version,
			"license":     object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
			"description": "What people and their tools ask of a control plane and order from it. A route with x-llmgw-needs answers 501 where that part is not wired in.",
		},
		"servers":  []any{object{"url": "/"}},
		"security": []any{object{"admin": []any{}}},
		"paths":    paths,
		"components": object{
			"schemas":         s.components,
			"securitySchemes": object{"admin": object{"type": "http", "scheme": "bearer", "description": "An admin token, llmgw-adm-<id>_<secret>."}},
		},
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(doc); err != nil {
		return nil, fmt.Errorf("encode the OpenAPI document: %w", err)
	}
	return b.Bytes(), nil
}

func probeDoc(op, summary string) object {
	text := object{"text/plain": object{"schema": object{"type": "string"}}}
	return object{"get": object{
		"operationId": lowerFirst(op), "summary": summary, "security": []any{},
		"responses": object{"200": object{"description": "Yes", "content": text}, "503": object{"description": "No", "content": text}},
	}}
}

func metricsDoc() object {
	return object{"get": object{
		"operationId": "metrics", "summary": "Answer a scrape in the form of Prometheus", "x-llmgw-scope": string(auth.Read),
		"responses": object{"200": object{"description": "Metrics", "content": object{"text/plain": object{"schema": object{"type": "string"}}}}},
	}}
}

func operation(r *route, s *schemas) object {
	op := object{
		"operationId": lowerFirst(r.op), "summary": r.summary, "x-llmgw-scope": string(r.scope), "x-llmgw-action": r.name,
		"responses": responses(r, s),
	}
	if r.description != "" {
		op["description"] = r.description
	}
	if r.needs != noPart {
		op["x-llmgw-needs"] = string(r.needs)
	}
	if ps := parameters(r); len(ps) > 0 {
		op["parameters"] = ps
	}
	if r.in != nil {
		op["requestBody"] = object{
			"required": true, "description": "At most " + strconv.FormatInt(r.limit, 10) + " bytes.",
			"content": object{"application/json": object{"schema": s.of(r.in)}},
		}
	}
	return op
}

func responses(r *route, s *schemas) object {
	good := object{"description": "Done"}
	switch {
	case r.media != "":
		good["content"] = object{strings.Split(r.media, ";")[0]: object{"schema": object{}}}
	default:
		good["content"] = object{"application/json": object{"schema": s.of(r.out)}}
	}
	headers := object{}
	if r.etag && r.method != http.MethodDelete {
		headers["ETag"] = object{"description": "The revision, for If-Match", "schema": object{"type": "string"}}
	}
	for _, q := range r.query {
		if q.name == "cursor" {
			headers["Link"] = object{"description": "The next page, when there is one: rel=\"next\"", "schema": object{"type": "string"}}
		}
	}
	if len(headers) > 0 {
		good["headers"] = headers
	}
	return object{
		strconv.Itoa(r.code()): good,
		"default": object{
			"description": "Refused",
			"content":     object{"application/json": object{"schema": s.of(reflect.TypeFor[view.Error]())}},
		},
	}
}

var pathParam = regexp.MustCompile(`\{([a-z]+)\}`)

func parameters(r *route) []any {
	var out []any
	for _, m := range pathParam.FindAllStringSubmatch(r.pattern, -1) {
		doc := "Slashes in it are sent as %2F."
		out = append(out, object{"name": m[1], "in": "path", "required": true, "description": doc, "schema": object{"type": "string"}})
	}
	for _, q := range r.query {
		out = append(out, object{"name": q.name, "in": "query", "required": q.required, "description": q.doc, "schema": object{"type": q.kind}})
	}
	if r.method == http.MethodGet {
		return out
	}
	out = append(out, object{
		"name": actorHeader, "in": "header", "description": "Who the caller says acts; a claim, kept beside the authenticated principal.",
		"schema": object{"type": "string", "maxLength": longestActor},
	})
	if r.etag && strings.Contains(r.pattern, "{") {
		out = append(out, object{
			"name": "If-Match", "in": "header", "description": "The revision the change rests on; another one answers 412. May be left out.",
			"schema": object{"type": "string"},
		})
	}
	return out
}

func lowerFirst(s string) string {
	r := []rune(s)
	r[0] = unicode.ToLower(r[0])
	return string(r)
}
