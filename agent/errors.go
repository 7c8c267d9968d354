package agent

import (
	"errors"

	"llmgw.io/llmgw/agent/protocol"
)

// Errors that callers tell apart.
var (
	// ErrNotJoined says that the data folder holds no identity.
	ErrNotJoined = errors.New("agent: this machine has not joined a cluster")
	// ErrJoined says that the data folder holds one already.
	ErrJoined = errors.New("agent: this machine has joined a cluster already")

	errState = errors.New("agent: the state cannot be kept")
)

// failure is an error that ends a shard's attempt with a cause.
type failure struct {
	protocol.Failure
	lines []string
	// again says that the agent tries again by itself, whoever is reachable.
	again bool
}

// Error is the sentence.
func (f *failure) Error() string { return f.Text }

func failed(cause protocol.Cause, text string) *failure {
	return &failure{Failure: protocol.Failure{Cause: cause, Text: text}}
}
