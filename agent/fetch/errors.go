package fetch

import (
	"context"
	"errors"
	"fmt"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/internal/durable"
)

// Error says why weights cannot be had.
type Error struct {
	protocol.Failure
	// Later says that it mends itself, as a full disk does: the same call may
	// do later, and goes on with what was fetched.
	Later bool
	// broken says that what is in a file is at fault, so that the file is worthless.
	broken bool
	// gone says that whoever has to know says that there is no such thing.
	gone bool
}

// Error is the sentence.
func (e *Error) Error() string { return e.Text }

func failed(cause protocol.Cause, text string) *Error {
	return &Error{Failure: protocol.Failure{Cause: cause, Text: text}}
}

// fullDisk is a failure that mends itself: once there is room, what was fetched
// is gone on with.
func fullDisk(text string) *Error {
	e := failed(protocol.CauseDisk, text)
	e.Later = true
	return e
}

func diskFailure(err error, dir string) error {
	if durable.Full(err) {
		return fullDisk(fmt.Sprintf("the disk of %s is full (%v); remove weights that are not used, or name another folder", dir, err))
	}
	var f *Error
	if errors.As(err, &f) || errors.Is(err, context.Canceled) {
		return err
	}
	return failed(protocol.CauseFetch, fmt.Sprintf("the folder of weights cannot be used: %v; check its owner and its disk", err))
}

func diskOrNil(err error, dir string) error {
	if err == nil {
		return nil
	}
	return diskFailure(err, dir)
}
