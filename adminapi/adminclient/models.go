package adminclient

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"llmgw.io/llmgw/adminapi/view"
)

// Models lists all models and how they are doing.
func (c *Client) Models(ctx context.Context) ([]view.ModelView, error) {
	return All(func(cursor string) ([]view.ModelView, string, error) {
		return listing[view.ModelView](ctx, c, List{Cursor: cursor}.query(), "models")
	})
}

// AddModel adds a definition: a view.Model, or a json.RawMessage that is sent
// as it stands, so that the server names what it does not know.
func (c *Client) AddModel(ctx context.Context, definition any) (view.Added, error) {
	return post[view.Added](ctx, c, definition, "models")
}

// Model shows a definition in force, and its revision for a change.
func (c *Client) Model(ctx context.Context, name string) (m view.Model, revision string, err error) {
	header, err := c.do(ctx, ask{method: http.MethodGet, path: []string{"models", name}}, &m)
	if err != nil {
		return m, "", err
	}
	return m, header.Get("ETag"), nil
}

// PutModel replaces a definition, as AddModel takes it. Another revision than
// the one that is given is refused; empty takes any.
func (c *Client) PutModel(ctx context.Context, name string, definition any, revision string) (view.Model, error) {
	var out view.Model
	_, err := c.do(ctx, ask{method: http.MethodPut, path: []string{"models", name}, body: definition, ifMatch: revision}, &out)
	return out, err
}

// RemoveModel removes a definition.
func (c *Client) RemoveModel(ctx context.Context, name string) (view.Removed, error) {
	return remove[view.Removed](ctx, c, "models", name)
}

// ScaleModel sets how many replicas there are.
func (c *Client) ScaleModel(ctx context.Context, name string, in view.ScaleRequest) (view.ScaleResponse, error) {
	return post[view.ScaleResponse](ctx, c, in, "models", name, "scale")
}

// SetResources sets what shards reserve of their hosts.
func (c *Client) SetResources(ctx context.Context, name string, in view.ResourcesRequest) (view.Model, error) {
	return post[view.Model](ctx, c, in, "models", name, "resources")
}

// SetClass sets the capacity class.
func (c *Client) SetClass(ctx context.Context, name, class string) (view.ClassResponse, error) {
	return post[view.ClassResponse](ctx, c, view.ClassRequest{Class: class}, "models", name, "class")
}

// RetryModel tries a parked model again.
func (c *Client) RetryModel(ctx context.Context, name string) (view.RetryResponse, error) {
	return post[view.RetryResponse](ctx, c, nil, "models", name, "retry")
}

// Target shows how many replicas a model should have, and why.
func (c *Client) Target(ctx context.Context, name string) (view.Target, error) {
	return get[view.Target](ctx, c, nil, "models", name, "target")
}

// Headroom shows how many more replicas fit. limit 0 tries as many as the
// server usually does.
func (c *Client) Headroom(ctx context.Context, name string, limit int) (view.Headroom, error) {
	q := url.Values{}
	if limit != 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	return get[view.Headroom](ctx, c, q, "models", name, "headroom")
}

// Explain says where a model is placed, or why it is not.
func (c *Client) Explain(ctx context.Context, model string) (view.Explain, error) {
	return get[view.Explain](ctx, c, url.Values{"model": {model}}, "explain-placement")
}

// ReplicaList narrows a listing of replicas.
type ReplicaList struct {
	List
	// Model empty lists every model's.
	Model string
}

// Replicas lists replicas; next goes on, empty at the end.
func (c *Client) Replicas(ctx context.Context, l ReplicaList) (page []view.Replica, next string, err error) {
	q := l.query()
	if l.Model != "" {
		q.Set("model", l.Model)
	}
	return listing[view.Replica](ctx, c, q, "replicas")
}

// Restart restarts replicas.
func (c *Client) Restart(ctx context.Context, in view.RestartRequest) (view.RestartResult, error) {
	return post[view.RestartResult](ctx, c, in, "restart")
}

// OpenAPI is the server's own document.
func (c *Client) OpenAPI(ctx context.Context) (json.RawMessage, error) {
	return get[json.RawMessage](ctx, c, nil, "openapi.json")
}
