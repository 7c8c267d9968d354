package adminclient

import (
	"context"

	"llmgw.io/llmgw/adminapi/view"
)

// Orphans lists weights that no model needs, of one node or of all; next goes
// on, empty at the end.
func (c *Client) Orphans(ctx context.Context, node string, l List) (page []view.Orphan, next string, err error) {
	q := l.query()
	if node != "" {
		q.Set("node", node)
	}
	return listing[view.Orphan](ctx, c, q, "weights", "orphans")
}

// CollectWeights removes what a listing named, as far as nothing needs it by now.
func (c *Client) CollectWeights(ctx context.Context, in view.CollectRequest) (view.Collected, error) {
	return post[view.Collected](ctx, c, in, "weights", "collect")
}
