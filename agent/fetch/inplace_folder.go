package fetch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"llmgw.io/llmgw/agent/protocol"
)

// inFolder are the files of the model that a local folder holds, weights first.
// A folder of a hub's cache is taken by the snapshot that its main points to.
func (f *Fetcher) inFolder(dir string, w want) ([]string, error) {
	dir = snapshot(dir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, failed(protocol.CauseFile, fmt.Sprintf("the folder %s cannot be read: %s; check its owner and mode", dir, problemText(err)))
	}
	at := found{}
	for _, e := range entries {
		info, err := os.Stat(filepath.Join(dir, e.Name())) // a link counts as what it leads to
		if err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			at.Files = append(at.Files, foundFile{Path: e.Name(), Bytes: info.Size()})
		}
	}
	files, err := pickFiles(&repo{id: "the folder " + dir, rev: "this node"}, at, w)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, file := range files {
		paths = append(paths, filepath.Join(dir, file.name))
	}
	return paths, nil
}

// snapshot is the folder with the files of a hub's cache: links into the blobs
// beside it. Another folder is itself.
func snapshot(dir string) string {
	if !strings.HasPrefix(filepath.Base(dir), "models--") {
		return dir
	}
	commit, err := os.ReadFile(filepath.Join(dir, "refs", "main"))
	id := strings.TrimSpace(string(commit))
	if err == nil && commitID.MatchString(id) {
		return filepath.Join(dir, "snapshots", id)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "snapshots"))
	if err != nil || len(entries) != 1 {
		return dir
	}
	return filepath.Join(dir, "snapshots", entries[0].Name())
}
