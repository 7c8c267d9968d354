package durable

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// WriteFile replaces a file so that a reader, and a machine that loses power,
// finds the old content or the new one and nothing between. Mode 0600.
func WriteFile(path string, data []byte) error { return place(path, data, os.Rename) }

// CreateFile is WriteFile for a file that must not be there yet, else the error
// matches fs.ErrExist. Of any number of callers at once one makes it.
func CreateFile(path string, data []byte) error {
	return place(path, data, func(from, to string) error {
		err := os.Link(from, to)
		return errors.Join(err, os.Remove(from))
	})
}

// place writes a file beside the path and puts it there.
func place(path string, data []byte, put func(from, to string) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(data); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = put(f.Name(), path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir makes a rename in a folder durable. File systems that cannot say so
// are taken at their word.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	_ = d.Sync()
	return nil
}

// WriteJSON is WriteFile with the JSON of a value.
func WriteJSON(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return WriteFile(path, data)
}

// ReadJSON reads a file into v, and reports whether the file was there. One that
// is not there is no error.
func ReadJSON(path string, v any) (bool, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return true, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	return true, nil
}

// Full reports whether an error says that there is no room: on the disk, or in
// what its owner may use of it.
func Full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
