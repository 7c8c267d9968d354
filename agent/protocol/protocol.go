package protocol

import (
	"errors"
	"time"
)

// Paths on the agents' listener.
const (
	PathJoin    = "/agent/v1/join"
	PathRenew   = "/agent/v1/renew"
	PathBeat    = "/agent/v1/beat"
	PathSync    = "/agent/v1/sync"
	PathAnswers = "/agent/v1/answers/{id}"
)

// Limits and times of the wire.
const (
	// MaxFrame bounds every body but a streamed answer, in bytes.
	MaxFrame = 4 << 20
	// HeaderTable is how many bytes each end remembers of the headers it sent: none,
	// since zero would mean a default.
	HeaderTable = 1
	// BeatEvery is how often an agent beats; SampleEvery how often a beat
	// carries a measurement.
	BeatEvery   = 5 * time.Second
	SampleEvery = 15 * time.Second
	// PollAfter is when a poll is answered though nothing changed.
	PollAfter = 25 * time.Second
	// FactsEvery is how often whole facts are sent though their hash is the same.
	FactsEvery = 60 * time.Second
)

// Error is the body of every refusal on this wire.
type Error struct {
	// Text is a sentence with the next step.
	Text string `json:"error"`
	// Code is one of the codes below.
	Code string `json:"code"`
	// Leader is the address to go to instead. Empty: none is known.
	Leader string `json:"leader,omitempty"`
}

// Codes of refusals.
const (
	CodeInvalid   = "invalid"
	CodeTooLarge  = "too_large"
	CodeRevoked   = "revoked"
	CodeForbidden = "forbidden"
	CodeUsed      = "token_used"
	CodeExpired   = "token_expired"
	CodeNameTaken = "name_taken"
	CodeNotLeader = "not_leader"
	CodeLimited   = "rate_limited"
	CodeInternal  = "internal"
	// CodeNotReady says that the control plane has just started, or lost its
	// lead, and does not know yet what is desired. Ask again.
	CodeNotReady = "not_ready"
)

// Error is the sentence.
func (e *Error) Error() string { return e.Text }

// ErrForeign says that somebody else listens where an engine of ours should.
var ErrForeign = errors.New("protocol: another program listens at the engine's address")
