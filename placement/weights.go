package placement

import (
	"path"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// weights are the files of a model, as far as its definition names them.
type weights struct {
	files []catalog.File
	// local files are read where they lie, and are never brought anywhere.
	local bool
}

// missing is how many bytes a node would have to be brought. A node that was
// not asked to look has nothing, as far as is known.
func (w weights) missing(n *inventory.Node) int64 {
	if w.local {
		return 0
	}
	var sum int64
	for _, f := range w.files {
		if !onDisk(n, f) {
			sum += f.Bytes
		}
	}
	return sum
}

// onDisk knows a file by its hash, and by its name and size where one side has
// no hash.
func onDisk(n *inventory.Node, f catalog.File) bool {
	for i := range n.Facts.Weights {
		w := &n.Facts.Weights[i]
		if w.SHA256 != "" && f.SHA256 != "" {
			if w.SHA256 == f.SHA256 {
				return true
			}
			continue
		}
		if f.Bytes > 0 && w.Bytes == f.Bytes && path.Base(w.Path) == path.Base(f.Path) {
			return true
		}
	}
	return false
}
