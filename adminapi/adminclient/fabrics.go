package adminclient

import (
	"context"

	"llmgw.io/llmgw/adminapi/view"
)

// Fabrics shows the networks between nodes, and what is wrong with them.
func (c *Client) Fabrics(ctx context.Context) (view.FabricReport, error) {
	return get[view.FabricReport](ctx, c, nil, "fabrics")
}

// Topology shows the newest map of a network, with what its adapters do now.
func (c *Client) Topology(ctx context.Context, id string) (view.Topology, error) {
	return get[view.Topology](ctx, c, nil, "fabrics", id, "topology")
}

// ScanFabric has a node walk a network for its map, and answers it.
func (c *Client) ScanFabric(ctx context.Context, id string) (view.Topology, error) {
	return post[view.Topology](ctx, c, nil, "fabrics", id, "scan")
}

// NVLink shows NVLink domains of several nodes, and what keeps nodes out.
func (c *Client) NVLink(ctx context.Context) (view.NVLinkReport, error) {
	return get[view.NVLinkReport](ctx, c, nil, "nvlink")
}
