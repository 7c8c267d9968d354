package placement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"llmgw.io/llmgw/inventory"
)

// Trace is what Choose looked at and why it chose. It is filled by the code
// that decides, so it cannot tell another story: for each profile that was
// tried, Looked = Chosen + the sum of Counts.
type Trace struct {
	// Version is the snapshot the decision rests on.
	Version  uint64
	Profiles []ProfileTrace
}

// Placed reports whether the attempt found room, and with which profile.
func (t Trace) Placed() (profile string, ok bool) {
	for _, p := range t.Profiles {
		if p.Chosen > 0 {
			return p.Profile, true
		}
	}
	return "", false
}

// ProfileTrace is the trace of one profile.
type ProfileTrace struct {
	Profile string
	// Looked is how many nodes were looked at; Chosen how many were taken.
	Looked int
	Chosen int
	// Counts is how many nodes each reason ruled out.
	Counts map[Reason]int
	// Lines are single refusals, ordered by node, at most MaxLines; Omitted is
	// how many more there were. Nodes that were only outscored have no line:
	// Best tells of them.
	Lines   []Rejection
	Omitted int
	// Best are the best scores, best first, at most MaxBest.
	Best []Score
}

// MaxLines and MaxBest bound what a trace keeps per profile; counts are whole.
const (
	MaxLines = 100
	MaxBest  = 5
)

// Rejection is why one node was not used.
type Rejection struct {
	Node   inventory.NodeID
	Reason Reason
	// Text is a sentence with numbers: "needs 2 of H100-80, 1 free".
	Text string
	// Need and Have are the numbers in Unit; both zero where none apply.
	Need, Have int64
	Unit       string
}

// Score is how good a node was, with its parts; higher is better.
type Score struct {
	Node  inventory.NodeID
	Total float64
	Parts map[string]float64
}

// String is one line: "looked at 3: chosen 1, not_ready 1, class 1".
func (t ProfileTrace) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "looked at %d: chosen %d", t.Looked, t.Chosen)
	for _, r := range t.Ordered() {
		fmt.Fprintf(&b, ", %s %d", r, t.Counts[r])
	}
	return b.String()
}

// Ordered lists the reasons that were counted: the built-in ones in the order
// of the list, then an embedder's own by name.
func (t ProfileTrace) Ordered() []Reason {
	var out []Reason
	for _, r := range reasons {
		if t.Counts[r.reason] > 0 {
			out = append(out, r.reason)
		}
	}
	for _, r := range slices.Sorted(maps.Keys(t.Counts)) {
		if strings.HasPrefix(string(r), customPrefix) {
			out = append(out, r)
		}
	}
	return out
}

// reject counts a node that was not used, and keeps a line while there is room.
func (t *ProfileTrace) reject(q *query, r refusal) {
	t.Counts[r.reason]++
	if len(t.Lines) == MaxLines {
		t.Omitted++
		return
	}
	t.line(q, r)
}

// inOrder puts the lines in the order of nodes where they were added in another:
// that no group fits is known once every node was asked.
func (t *ProfileTrace) inOrder() {
	slices.SortFunc(t.Lines, func(a, b Rejection) int { return cmp.Compare(a.Node, b.Node) })
}

func (t *ProfileTrace) line(q *query, r refusal) {
	t.Lines = append(t.Lines, Rejection{
		Node: q.h.node.ID, Reason: r.reason, Text: r.sentence(q), Need: r.need, Have: r.have, Unit: r.unit,
	})
}
