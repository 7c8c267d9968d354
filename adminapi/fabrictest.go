package adminapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"llmgw.io/llmgw/adminapi/auth"
	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/inventory"
)

// longestTest bounds a test in seconds, testWait the route: two agents are asked,
// one after the other.
const (
	longestTest = 30
	testWait    = 2 * time.Minute
	testFeature = "fabric-test"
)

func testRoutes() []route {
	return []route{{
		method: http.MethodPost, pattern: "/fabric-test", name: "fabric.test", op: "FabricTest", scope: auth.Operate, needs: testsPart,
		summary: "Measure the network between two nodes",
		description: "One node listens on a port from 18900 to 18999 for the time of the test, the other sends: by ib_write_bw where both have it and share an InfiniBand fabric, else by several streams of TCP, and text says why; small echoes are timed. " +
			"It fills the network meanwhile. A node is in one test at a time, and an agent that lacks the feature fabric-test answers 409.",
		what: "the fabric test", limit: oneField, long: testWait, endpoint: takes((*API).fabricTest),
	}}
}

// fabricTest needs the part that says that agents can be tested.
func (a *API) fabricTest(c *call, in view.FabricTestRequest) (view.FabricTestResult, error) {
	switch {
	case in.From == "" || in.To == "":
		return view.FabricTestResult{}, invalid("name two nodes, from and to")
	case in.From == in.To:
		return view.FabricTestResult{}, invalid("from and to are the same node; name two")
	case in.Seconds < 0 || in.Seconds > longestTest:
		return view.FabricTestResult{}, invalid("seconds must be 1 to %d, or left out", longestTest)
	}
	if a.cfg.Cluster != nil {
		for _, id := range []string{in.From, in.To} {
			n := a.look().Fleet.Node(inventory.NodeID(id))
			if n == nil {
				return view.FabricTestResult{}, noNode(id)
			}
			if !slices.Contains(n.Facts.Features, testFeature) {
				return view.FabricTestResult{}, refuse(http.StatusConflict, codeUnsupported, "the agent of node %q is too old for this, or has not said yet what it can do; upgrade it", id)
			}
		}
	}
	v, err := a.cfg.NodeCalls.(FabricTests).FabricTest(c.r.Context(), in)
	if err == nil || c.r.Context().Err() != nil {
		return v, err
	}
	for _, known := range []error{inventory.ErrNotFound, ErrUnsupported, ErrNoFabric, ErrBusy, ErrAgentFailed, context.DeadlineExceeded} {
		if errors.Is(err, known) {
			return v, err
		}
	}
	return v, fmt.Errorf("%w: %w", ErrAgentFailed, err)
}
