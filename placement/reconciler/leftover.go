package reconciler

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// Leftover is a folder of weights that an agent fetched and nothing needs any
// more: no definition, no replica, and nothing that a rollout or a rollback would
// bring back.
type Leftover struct {
	Node inventory.NodeID
	// Path is relative to the agent's folder of weights.
	Path  string
	Bytes int64
	// LastUsed is when an engine last had any of it, to the hour. Zero: never, as
	// far as the agent knows.
	LastUsed time.Time
	// Source is what it was fetched for.
	Source string
}

// Leftovers lists what may be removed, by node and path. What people put on a
// node's disk themselves is never in it: nobody here knows what they need.
func (v *View) Leftovers() []Leftover {
	n := v.needs()
	var out []Leftover
	for _, node := range v.Fleet.Nodes() {
		out = append(out, n.leftovers(node)...)
	}
	return out
}

// needs is what definitions and replicas need of weights.
type needs struct {
	sources, hashes map[string]bool
}

func (v *View) needs() needs {
	n := needs{sources: map[string]bool{}, hashes: map[string]bool{}}
	entries := v.Catalog.Entries()
	for i := range entries {
		m := &entries[i].Model
		n.add(m.Source, m.Files, m.Adapters)
		if m.Origin != nil && m.Origin.Previous != nil {
			n.add(m.Origin.Previous.Source, nil, nil)
		}
	}
	for i := range v.Replicas {
		n.add(v.Replicas[i].Source, v.Replicas[i].Files, v.Replicas[i].Adapters)
	}
	for _, m := range v.Memory.Models {
		if f := m.Former; f != nil {
			n.add(f.Source, f.Files, f.Adapters)
		}
	}
	return n
}

func (n *needs) add(source string, files []catalog.File, adapters []catalog.Adapter) {
	n.source(source)
	for _, f := range files {
		if f.SHA256 != "" {
			n.hashes[f.SHA256] = true
		}
	}
	for _, a := range adapters {
		n.source(a.Source)
	}
}

func (n *needs) source(s string) {
	if s == "" {
		return
	}
	n.sources[bare(s)] = true
	if sum, ok := strings.CutPrefix(s, "mirror://sha256:"); ok {
		n.hashes[sum] = true
	}
	if _, fragment, ok := strings.Cut(s, "#sha256="); ok {
		n.hashes[fragment] = true
	}
}

// bare is a source without its query and hash, as agents keep it.
func bare(s string) string {
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		return s[:i]
	}
	return s
}

// leftovers are those of one node. A folder with one file that is needed is
// needed whole.
func (n *needs) leftovers(node *inventory.Node) []Leftover {
	found := map[string]*Leftover{}
	for i := range node.Facts.Weights {
		w := &node.Facts.Weights[i]
		folder, _, within := strings.Cut(path.Clean(w.Path), "/")
		if w.Source == "" || !within {
			continue
		}
		l := found[folder]
		if l == nil {
			l = &Leftover{Node: node.ID, Path: folder, Source: w.Source}
			found[folder] = l
		}
		if n.sources[bare(w.Source)] || w.SHA256 != "" && n.hashes[w.SHA256] {
			l.Node = "" // needed
		}
		l.Bytes += w.Bytes
		if w.LastUsed.After(l.LastUsed) {
			l.LastUsed = w.LastUsed
		}
	}
	var out []Leftover
	for _, l := range found {
		if l.Node != "" {
			out = append(out, *l)
		}
	}
	slices.SortFunc(out, func(a, b Leftover) int { return cmp.Compare(a.Path, b.Path) })
	return out
}
