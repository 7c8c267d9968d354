package adminclient

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"llmgw.io/llmgw/adminapi/view"
)

// Summary shows the cluster at one glance.
func (c *Client) Summary(ctx context.Context) (view.Summary, error) {
	return get[view.Summary](ctx, c, nil, "summary")
}

// Nodes lists nodes; next goes on, empty at the end.
func (c *Client) Nodes(ctx context.Context, l List) (page []view.Node, next string, err error) {
	return listing[view.Node](ctx, c, l.query(), "nodes")
}

// Node shows one node.
func (c *Client) Node(ctx context.Context, id string) (view.Node, error) {
	return get[view.Node](ctx, c, nil, "nodes", id)
}

// SetNodeState makes a node ready, cordons or drains it.
func (c *Client) SetNodeState(ctx context.Context, id string, in view.NodeStateRequest) (view.NodeState, error) {
	return post[view.NodeState](ctx, c, in, "nodes", id, "state")
}

// SetBuild chooses the build of an engine on a node.
func (c *Client) SetBuild(ctx context.Context, id string, in view.NodeEngineRequest) (view.NodeEngineRequest, error) {
	return post[view.NodeEngineRequest](ctx, c, in, "nodes", id, "engines")
}

// UpgradeNode has a node's agent take a release, which may take minutes to fetch and
// is not yet running when this returns.
func (c *Client) UpgradeNode(ctx context.Context, id string, in view.NodeUpgradeRequest) (view.NodeUpgrade, error) {
	return post[view.NodeUpgrade](ctx, c, in, "nodes", id, "upgrade")
}

// RemoveNode forgets a node that is gone.
func (c *Client) RemoveNode(ctx context.Context, id string) (view.NodeRemoved, error) {
	return remove[view.NodeRemoved](ctx, c, "nodes", id)
}

// LogRequest says which log is wanted.
type LogRequest struct {
	// Shard empty asks for the agent's own log.
	Shard string
	// Tail is how many of the last lines. Nil: the server's usual; 0: none.
	Tail *int
	// Follow goes on with lines as they come, until the context ends.
	Follow bool
}

// NodeLogs opens a log; the caller closes it.
func (c *Client) NodeLogs(ctx context.Context, id string, in LogRequest) (io.ReadCloser, error) {
	q := url.Values{}
	if in.Shard != "" {
		q.Set("shard", in.Shard)
	}
	if in.Tail != nil {
		q.Set("tail", strconv.Itoa(*in.Tail))
	}
	if in.Follow {
		q.Set("follow", "true")
	}
	resp, err := c.send(ctx, ask{method: http.MethodGet, path: []string{"nodes", id, "logs"}, query: q})
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}
