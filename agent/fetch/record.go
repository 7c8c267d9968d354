package fetch

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"

	"llmgw.io/llmgw/internal/durable"
)

const (
	// recordName is of what is known of a set, in its folder; a folder without one
	// was not fetched by an agent.
	recordName = ".set.json"
	// hubFolder keeps what hubs said, beside the sets.
	hubFolder = ".hub"
	// goneFolder holds sets on their way out.
	goneFolder = ".gone"
	// lockName is of the lock in a set's folder.
	lockName = ".lock"
)

// record says what a folder was fetched for.
type record struct {
	// Source is what the definition says, without a query.
	Source string `json:"source"`
}

// writeRecord writes it where it is not there yet.
func writeRecord(root *os.Root, r record) error {
	want, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if have, err := root.ReadFile(recordName); err == nil && bytes.Equal(have, want) {
		return nil
	}
	return durable.WriteFile(filepath.Join(root.Name(), recordName), want)
}

// keep writes what a hub said.
func (f *Fetcher) keep(path string, at found) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return durable.WriteJSON(path, at)
}
