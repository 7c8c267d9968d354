package view

import (
	"cmp"
	"slices"
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// Orphan is a folder of weights on a node that no model needs.
type Orphan struct {
	Node     string     `json:"node"`
	Path     string     `json:"path" doc:"relative to the agent's folder of weights"`
	Bytes    int64      `json:"bytes"`
	LastUsed *time.Time `json:"last_used,omitempty" doc:"when an engine last had it, to the hour; absent: never, as far as the agent knows"`
	Source   string     `json:"source,omitempty" doc:"what it was fetched for"`
}

// OrphansOf lists them by node and path.
func OrphansOf(list []reconciler.Leftover) []Orphan {
	out := make([]Orphan, 0, len(list))
	for _, l := range list {
		o := Orphan{Node: string(l.Node), Path: l.Path, Bytes: l.Bytes, Source: l.Source}
		if !l.LastUsed.IsZero() {
			at := l.LastUsed.UTC()
			o.LastUsed = &at
		}
		out = append(out, o)
	}
	return out
}

// OrphanRef names an orphan as a listing did.
type OrphanRef struct {
	Node string `json:"node"`
	Path string `json:"path"`
}

// CollectRequest names what is to be removed.
type CollectRequest struct {
	Orphans []OrphanRef `json:"orphans" doc:"as GET weights/orphans lists them"`
}

// Collected says what became of it.
type Collected struct {
	FreedBytes int64            `json:"freed_bytes"`
	Removed    []RemovedWeights `json:"removed"`
	Kept       []KeptWeights    `json:"kept,omitempty"`
}

// RemovedWeights are gone from a node's disk.
type RemovedWeights struct {
	Node  string `json:"node"`
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// KeptWeights are there still.
type KeptWeights struct {
	Node string `json:"node"`
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Add takes what one node did.
func (c *Collected) Add(node string, did inventory.Collected) {
	for _, r := range did.Removed {
		c.Removed = append(c.Removed, RemovedWeights{Node: node, Path: r.Path, Bytes: r.Bytes})
		c.FreedBytes += r.Bytes
	}
	for _, k := range did.Kept {
		c.Keep(node, k.Path, k.Why)
	}
}

// Keep notes that something was not removed.
func (c *Collected) Keep(node, path, why string) {
	c.Kept = append(c.Kept, KeptWeights{Node: node, Path: path, Why: why})
}

// Sort puts it in order of node and path, as listings are.
func (c *Collected) Sort() {
	if c.Removed == nil {
		c.Removed = []RemovedWeights{}
	}
	slices.SortFunc(c.Removed, func(a, b RemovedWeights) int { return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Path, b.Path)) })
	slices.SortFunc(c.Kept, func(a, b KeptWeights) int { return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Path, b.Path)) })
}
