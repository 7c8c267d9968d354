package view

import (
	"encoding/json"
	"time"

	"llmgw.io/llmgw/storage"
)

// AuditEvent is one change, with who made it.
type AuditEvent struct {
	Seq       int64           `json:"seq"`
	At        time.Time       `json:"at"`
	Principal string          `json:"principal" doc:"who was authenticated"`
	Claimed   string          `json:"claimed,omitempty" doc:"who the caller said acts; a claim"`
	Action    string          `json:"action"`
	Object    string          `json:"object"`
	Before    json.RawMessage `json:"before,omitempty"`
	After     json.RawMessage `json:"after,omitempty"`
	RequestID string          `json:"request_id,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Hash      string          `json:"hash"`
}

// AuditCheck is the result of walking the chain.
type AuditCheck struct {
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty" doc:"the first event that does not hold"`
}

// AuditOf builds events, in their order.
func AuditOf(events []storage.AuditEvent) []AuditEvent {
	out := make([]AuditEvent, 0, len(events))
	for _, e := range events {
		out = append(out, AuditEvent{
			Seq: e.Seq, At: e.At.UTC(), Principal: e.Principal, Claimed: e.Claimed, Action: e.Action, Object: e.Object,
			Before: rawJSON(e.Before), After: rawJSON(e.After), RequestID: e.RequestID, Reason: e.Reason, Hash: e.Hash,
		})
	}
	return out
}

// rawJSON shows a row as it is; what is no JSON, as a text.
func rawJSON(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	if json.Valid([]byte(s)) {
		return json.RawMessage(s)
	}
	quoted, err := json.Marshal(s)
	if err != nil {
		return nil
	}
	return quoted
}
