package agent_test

import (
	"llmgw.io/llmgw/agent"
	"llmgw.io/llmgw/agent/uplink"
)

// The uplink knows nothing of the agent, so that it fits is said here.
var _ agent.Control = (*uplink.Client)(nil)
