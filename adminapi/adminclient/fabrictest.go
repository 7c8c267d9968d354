package adminclient

import (
	"context"

	"llmgw.io/llmgw/adminapi/view"
)

// FabricTest has two nodes measure the network between them, which takes as long
// as it sends and some seconds.
func (c *Client) FabricTest(ctx context.Context, in view.FabricTestRequest) (view.FabricTestResult, error) {
	return post[view.FabricTestResult](ctx, c, in, "fabric-test")
}
