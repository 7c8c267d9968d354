package inventory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// How much operators may write on one node.
const (
	MaxLabels     = 64
	MaxLabelKey   = 128
	MaxLabelValue = 256
)

// SetLabels changes the operators' labels of a node and answers the node as it
// is then. A nil value removes the operators' label, so that the agent's own
// shows again; an empty one hides the agent's.
func (r *Registry) SetLabels(ctx context.Context, id NodeID, change map[string]*string, by Author) (*Node, error) {
	n := r.Snapshot().Node(id)
	if n == nil {
		return nil, fmt.Errorf("label node %s: %w", id, ErrNotFound)
	}
	if err := checkLabels(n.Settings.Labels, change); err != nil {
		return nil, fmt.Errorf("label node %s: %w", id, err)
	}
	n, err := r.change(ctx, id, by, func(s *NodeSettings) bool {
		next := labelled(s.Labels, change)
		same := maps.Equal(next, s.Labels)
		s.Labels = next
		return !same
	})
	if err != nil {
		return nil, fmt.Errorf("label node %s: %w", id, err)
	}
	return n, nil
}

// Relabelled is a copy of the node with the operators' labels changed as SetLabels
// changes them, on trial: what that refuses, this does.
func (n *Node) Relabelled(change map[string]*string) (*Node, error) {
	if err := checkLabels(n.Settings.Labels, change); err != nil {
		return nil, fmt.Errorf("label node %s: %w", n.ID, err)
	}
	c := *n
	c.Settings.Labels = labelled(n.Settings.Labels, change)
	return &c, nil
}

// labelled copies labels with a change made. None is nil.
func labelled(has map[string]string, change map[string]*string) map[string]string {
	out := maps.Clone(has)
	if out == nil {
		out = map[string]string{}
	}
	for k, v := range change {
		if v == nil {
			delete(out, k)
		} else {
			out[k] = *v
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func checkLabels(has map[string]string, change map[string]*string) error {
	for _, k := range slices.Sorted(maps.Keys(change)) {
		v := change[k]
		switch {
		case k == "" || len(k) > MaxLabelKey || strings.ContainsFunc(k, func(c rune) bool { return unprintable(c) || c == ' ' || c == '=' }):
			return fmt.Errorf("%w: %q cannot be the name of a label: want at most %d bytes without spaces and =", ErrInvalid, clip(k), MaxLabelKey)
		case v != nil && (len(*v) > MaxLabelValue || strings.ContainsFunc(*v, unprintable)):
			return fmt.Errorf("%w: the value of label %s is one line of at most %d bytes", ErrInvalid, k, MaxLabelValue)
		}
	}
	if n := len(labelled(has, change)); n > MaxLabels {
		return fmt.Errorf("%w: it would have %d labels of operators, and %d are allowed; remove some", ErrInvalid, n, MaxLabels)
	}
	return nil
}

func clip(s string) string {
	if len(s) > MaxLabelKey {
		return s[:MaxLabelKey] + "…"
	}
	return s
}
