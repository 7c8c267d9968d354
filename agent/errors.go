package agent

import (
	"errors"
	"fmt"

	"llmgw.io/llmgw/agent/fetch"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/internal/durable"
)

// errState says that a change was not made because it could not be kept.
var errState = errors.New("agent: the state cannot be kept")

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

// fullDisk is a failure that mends itself: once there is room, the shard is
// started again.
func fullDisk(text string) *failure {
	f := failed(protocol.CauseDisk, text)
	f.again = true
	return f
}

// folderFailure is why a shard's folder cannot be written to.
func folderFailure(err error, dir string) error {
	if durable.Full(err) {
		return fullDisk(fmt.Sprintf("the disk of %s is full (%v); make room on it", dir, err))
	}
	return failed(protocol.CauseUnknown, fmt.Sprintf("the shard's folder cannot be used: %v; check its owner and its disk", err))
}

// fetchFailure makes what fetching says a failure of the shard. Other errors
// are ctx's and stay.
func fetchFailure(err error) error {
	var e *fetch.Error
	if !errors.As(err, &e) {
		return err
	}
	return &failure{Failure: e.Failure, again: e.Later}
}

// clip keeps what others wrote short in our sentences.
func clip(s string) string {
	const limit = 200
	if len(s) > limit {
		return s[:limit] + "…"
	}
	return s
}

// asFailure makes what went wrong with a gate its shard's failure.
func asFailure(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	return failed(protocol.CauseGate, err.Error())
}
