package storage

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"llmgw.io/llmgw/inventory"
)

// Act is one change as its store sees it.
type Act struct {
	// Action names the write ("models.put"); the author's own word for what was
	// asked stands before it.
	Action string
	// Object names what was changed: "model:tiny", "node:a1".
	Object string
	// Before and After are encoded as JSON. Nil: there was none, there is none.
	Before, After any
}

// CheckAuthor answers ErrAuthor for a write that does not say who makes it.
func CheckAuthor(by inventory.Author) error {
	if strings.TrimSpace(CleanText(by.Principal)) == "" {
		return ErrAuthor
	}
	return nil
}

// NewAuditEvent makes the event of an act: in text that every database can
// hold, with secrets left out. It has no place in the chain yet; see
// [AuditEvent.Follow].
func NewAuditEvent(at time.Time, by inventory.Author, a Act) (AuditEvent, error) {
	if err := CheckAuthor(by); err != nil {
		return AuditEvent{}, err
	}
	before, err := encode(a.Before)
	if err != nil {
		return AuditEvent{}, err
	}
	after, err := encode(a.After)
	if err != nil {
		return AuditEvent{}, err
	}
	action := by.Action
	if action == "" {
		action = a.Action
	}
	return AuditEvent{
		At:        at.UTC().Round(0),
		Principal: CleanText(by.Principal),
		Claimed:   CleanText(by.Claimed),
		Action:    CleanText(action),
		Object:    CleanText(a.Object),
		Before:    before,
		After:     after,
		RequestID: CleanText(by.RequestID),
		Reason:    CleanText(by.Reason),
	}, nil
}

func encode(v any) (string, error) {
	if v == nil {
		return "", nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode a row for the audit log: %w", err)
	}
	return Redact(string(b)), nil
}

// AuditHead is the end of the chain: the newest event's number and hash. The
// zero value is the head of an empty log.
type AuditHead struct {
	Seq  int64
	Hash string
}

// Follow puts the event at the end of the chain and returns the new head.
func (e *AuditEvent) Follow(head AuditHead) AuditHead {
	e.Seq = head.Seq + 1
	e.Hash = e.hash(head.Hash)
	return AuditHead{Seq: e.Seq, Hash: e.Hash}
}

// Check answers ErrTampered, with the event's number, unless the event stands in
// the chain right after the head; then it returns the new head.
func (h AuditHead) Check(e *AuditEvent) (AuditHead, error) {
	if e.Seq != h.Seq+1 {
		return h, fmt.Errorf("%w: event %d follows event %d; what stood between is missing or was moved", ErrTampered, e.Seq, h.Seq)
	}
	if e.Hash != e.hash(h.Hash) {
		return h, fmt.Errorf("%w: event %d is not what was written", ErrTampered, e.Seq)
	}
	return AuditHead{Seq: e.Seq, Hash: e.Hash}, nil
}

// Ends answers ErrTampered unless the walk that led to h has met the kept head:
// events cut off at the end break no link.
func (h AuditHead) Ends(kept AuditHead) error {
	if h == kept {
		return nil
	}
	return fmt.Errorf("%w: the log ends at event %d, and event %d was the last one written", ErrTampered, h.Seq, kept.Seq)
}

// hash covers every field, each with its length before it, so that no two
// events have one encoding.
func (e *AuditEvent) hash(prev string) string {
	h := sha256.New()
	n := binary.BigEndian.AppendUint64(nil, uint64(e.Seq))
	h.Write(binary.BigEndian.AppendUint64(n, uint64(e.At.UnixNano())))
	for _, s := range []string{prev, e.Principal, e.Claimed, e.Action, e.Object, e.Before, e.After, e.RequestID, e.Reason} {
		h.Write(binary.AppendUvarint(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	return hex.EncodeToString(h.Sum(nil))
}
