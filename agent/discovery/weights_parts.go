package discovery

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"llmgw.io/llmgw/internal/safetensors"
	"llmgw.io/llmgw/inventory"
)

// partName is how parts of one model are called, in both formats.
var partName = regexp.MustCompile(`^(.*)-(\d{5})-of-(\d{5})(\.(?i:gguf|safetensors))$`)

// mostParts bounds what a name may make us look for.
const mostParts = 1024

// lacks says of each file what is missing beside it: parts that its name counts,
// or files that an index beside it names.
func lacks(root string, list []inventory.Weight) {
	there := make(map[string]bool, len(list))
	for _, w := range list {
		there[w.Path] = true
	}
	byFolder := map[string]string{}
	for i := range list {
		w := &list[i]
		if m := partName.FindStringSubmatch(path.Base(w.Path)); m != nil {
			w.Lacks = missingPart(there, path.Dir(w.Path), m)
		}
		dir := path.Dir(w.Path)
		if w.Lacks != "" || !strings.HasSuffix(strings.ToLower(w.Path), ".safetensors") {
			continue
		}
		missing, looked := byFolder[dir]
		if !looked {
			missing = missingOfIndex(there, root, dir)
			byFolder[dir] = missing
		}
		w.Lacks = missing
	}
}

func missingPart(there map[string]bool, dir string, m []string) string {
	n, _ := strconv.Atoi(m[3])
	for i := range min(n, mostParts) {
		if name := fmt.Sprintf("%s-%05d-of-%s%s", m[1], i+1, m[3], m[4]); !there[path.Join(dir, name)] {
			return name
		}
	}
	return ""
}

func missingOfIndex(there map[string]bool, root, dir string) string {
	at := filepath.Join(root, filepath.FromSlash(dir), "model.safetensors.index.json")
	info, err := os.Stat(at)
	if err != nil || info.Size() > safetensors.MaxIndex {
		return ""
	}
	text, err := os.ReadFile(at)
	if err != nil {
		return ""
	}
	names, err := safetensors.Index(text)
	if err != nil {
		return ""
	}
	for _, name := range names {
		if !there[path.Join(dir, name)] {
			return name
		}
	}
	return ""
}
