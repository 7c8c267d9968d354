package provision

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"llmgw.io/llmgw/internal/durable"
)

// program is one installed build that was proved.
type program struct {
	Engine  string `json:"engine"`
	Version string `json:"version"`
	Build   string `json:"build"`
	// Path is the engine's program, absolute.
	Path string `json:"path"`
	// Folder is the build's own, absolute. Nothing else is in it.
	Folder string `json:"folder"`
	// Sum is of the release as the manifest had it.
	Sum string `json:"sum"`
}

// record is what is installed of one engine, newest first: the one that new
// shards start with, and the one before it. Writing it is the switch.
type record struct {
	Programs []program `json:"programs"`
}

// kept is how many builds of an engine stay on disk: the current one and the one
// to go back to.
const kept = 2

// recordName is the file of an engine's record.
const recordName = "installed.json"

// sum names a release by all that it is.
func (r *Release) sum() string {
	data, _ := json.Marshal(r) // plain values always encode
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// readRecord reads what is installed in an engine's folder. None is no error;
// builds whose program is gone are left out.
func readRecord(dir string) (record, error) {
	data, err := os.ReadFile(filepath.Join(dir, recordName))
	if errors.Is(err, os.ErrNotExist) {
		return record{}, nil
	}
	if err != nil {
		return record{}, fmt.Errorf("the record of installed engines cannot be read: %w", err)
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return record{}, fmt.Errorf("%s is damaged: %w; remove it to have the engine installed again", filepath.Join(dir, recordName), err)
	}
	r.Programs = slices.DeleteFunc(r.Programs, func(p program) bool {
		info, err := os.Stat(p.Path)
		return err != nil || info.IsDir()
	})
	return r, nil
}

// add puts a build first. The file is whole after a loss of power.
func (r record) add(dir string, p program) (record, error) {
	next := record{Programs: []program{p}}
	for _, old := range r.Programs {
		if old.Folder != p.Folder && len(next.Programs) < kept {
			next.Programs = append(next.Programs, old)
		}
	}
	data, err := json.MarshalIndent(next, "", "  ")
	if err == nil {
		err = durable.WriteFile(filepath.Join(dir, recordName), append(data, '\n'))
	}
	if err != nil {
		return r, fmt.Errorf("the record of installed engines cannot be written: %w", err)
	}
	return next, nil
}

// sweep removes what no record names and nothing runs from: half an installation,
// and builds that are older than the kept ones.
func (r record) sweep(dir string, inUse func(folder string) bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		folder := filepath.Join(dir, e.Name())
		named := slices.ContainsFunc(r.Programs, func(p program) bool { return p.Folder == folder })
		if e.IsDir() && !named && !inUse(folder) {
			_ = os.RemoveAll(folder)
		}
	}
}
