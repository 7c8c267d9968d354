package archtest

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"
)

// foreignWords belong to the places where the project was written, and to none
// where it is read: paths of a machine, hosts that packages came from. They are
// put together here, so that this file does not hold them.
func foreignWords() []string {
	return []string{
		".." + "/shared", "/work" + "/", "/tmp" + "/brief", "proxy.golang" + ".org", "sum.golang" + ".org",
		"deb.debian" + ".org", "registry.npmjs" + ".org", "files.pythonhosted" + ".org",
	}
}

// checkWords looks for foreign words in text files. What holds a zero byte is
// no text, and is passed over.
func checkWords(fsys fs.FS, paths, words []string) ([]finding, error) {
	if len(paths) == 0 {
		return nil, fmt.Errorf("archtest: there are no files to search for foreign words")
	}
	var out []finding
	for _, p := range paths {
		text, err := fs.ReadFile(fsys, p)
		if err != nil {
			return nil, err
		}
		if bytes.IndexByte(text, 0) >= 0 {
			continue
		}
		for i, line := range strings.Split(string(text), "\n") {
			for _, w := range words {
				if strings.Contains(line, w) {
					out = append(out, finding{path: p, line: i + 1, rule: fmt.Sprintf("the text names %q", w), mend: "say it without a place that readers do not have"})
				}
			}
		}
	}
	return out, nil
}
