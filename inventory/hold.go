package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Hold keeps new replicas away from a domain, for a time.
//
// A hold without From only keeps what is new away, at once. One with From is
// planned work: it does nothing until HoldAhead before, then it keeps what is new
// away, and from From on what stands there is carried out too, replacement first.
// Either ends at Until by itself.
type Hold struct {
	Domain Domain `json:"domain"`
	// Reason is why, in a person's words. May be empty.
	Reason string `json:"reason,omitempty"`
	// By is who holds it.
	By string `json:"by"`
	// Since is when it was said.
	Since time.Time `json:"since"`
	// From is when planned work begins. Zero: it is no planned work.
	From time.Time `json:"from,omitzero"`
	// Until is when it ends. Zero: when it is released.
	Until time.Time `json:"until,omitzero"`
}

// HoldAhead is how long before planned work begins nothing new is placed there: a
// start may take that long, and what starts would have to leave at once.
const HoldAhead = 10 * time.Minute

// InForce reports whether the hold has begun and has not ended.
func (h *Hold) InForce(now time.Time) bool { return !now.Before(h.From) && !h.Ended(now) }

// ahead is the hold as it is shortly before it begins, when it only keeps what is
// new away.
func (h *Hold) ahead(now time.Time) (near Hold, ok bool) {
	if h.From.IsZero() || h.InForce(now) || h.Ended(now) || now.Before(h.From.Add(-HoldAhead)) {
		return Hold{}, false
	}
	near = *h
	near.From, near.Reason = time.Time{}, "from "+h.From.UTC().Format("15:04 UTC on 2 January")
	if h.Reason != "" {
		near.Reason += ", " + h.Reason
	}
	return near, true
}

// Ended reports whether its end is past.
func (h *Hold) Ended(now time.Time) bool { return !h.Until.IsZero() && !now.Before(h.Until) }

// MaxReason is how many bytes the reason of a hold may have.
const MaxReason = 256

// Check says why the hold makes no sense at a time; the error matches
// ErrInvalid.
func (h *Hold) Check(now time.Time) error {
	if _, err := ParseDomain(h.Domain.String()); err != nil {
		return err
	}
	switch {
	case len(h.Reason) > MaxReason || strings.ContainsFunc(h.Reason, unprintable):
		return fmt.Errorf("%w: the reason of a hold is one line of at most %d bytes", ErrInvalid, MaxReason)
	case h.Ended(now):
		return fmt.Errorf("%w: the end of the hold, %s, is past; give one that is ahead, or leave it out", ErrInvalid, h.Until.UTC().Format(time.RFC3339))
	case !h.Until.IsZero() && !h.From.Before(h.Until):
		return fmt.Errorf("%w: the hold would end at %s, before it begins at %s", ErrInvalid, h.Until.UTC().Format(time.RFC3339), h.From.UTC().Format(time.RFC3339))
	}
	return nil
}

// Sentence says what is held and why: "rack r12-07 is held: PDU swap".
func (h *Hold) Sentence() string {
	s := string(h.Domain.Level) + " " + h.Domain.Name + " is held"
	if h.Reason != "" {
		s += ": " + h.Reason
	}
	return s
}

// Held is what the holds in force make of one node. The zero value means that
// it is not held.
type Held struct {
	// Domain is the one that is held: the widest, or one that is carried out.
	Domain Domain
	// Reason is the sentence for people.
	Reason string
	// Out says that what stands there is to be carried out.
	Out bool
}

// Yes reports whether the node is held.
func (h Held) Yes() bool { return h.Domain.Name != "" }

// heldBy is what holds in force make of a node. They are in order, so the first
// that meets it decides.
func heldBy(inForce []Hold, n *Node) Held {
	for i := range inForce {
		if h := &inForce[i]; h.Domain.Holds(n) {
			return Held{Domain: h.Domain, Reason: h.Sentence(), Out: !h.From.IsZero()}
		}
	}
	return Held{}
}

// inForce lists the holds that are in force, and those that are about to be, which
// do not carry out yet: those that do first, then the widest, then by name.
func inForce(holds []Hold, now time.Time) []Hold {
	var out []Hold
	for _, h := range holds {
		if h.InForce(now) {
			out = append(out, h)
		} else if near, ok := h.ahead(now); ok {
			out = append(out, near)
		}
	}
	slices.SortFunc(out, func(a, b Hold) int {
		if a.From.IsZero() != b.From.IsZero() {
			if b.From.IsZero() {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.Domain.Level.width(), a.Domain.Level.width()), cmp.Compare(a.Domain.Name, b.Domain.Name))
	})
	return out
}

// byDomain orders holds as lists show them: the widest level first.
func byDomain(a, b Hold) int {
	return cmp.Or(cmp.Compare(b.Domain.Level.width(), a.Domain.Level.width()), cmp.Compare(a.Domain.Name, b.Domain.Name))
}
