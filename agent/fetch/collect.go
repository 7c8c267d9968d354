package fetch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/internal/durable"
)

// folderName is how folders are called that a Fetcher makes.
var folderName = regexp.MustCompile(`^[0-9a-f]{32}$`)

// Known says what is known of a file in the Fetcher's folder: what its set was
// fetched for, and its hash. Empty: the file was not fetched by an agent, or
// nobody knows its hash.
func (f *Fetcher) Known(path string) (source, sha256 string) {
	folder, ok := f.folderOf(path)
	if !ok {
		return "", ""
	}
	r, err := readRecord(folder)
	if err != nil {
		return "", ""
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", ""
	}
	var n note
	data, err := os.ReadFile(path + noteSuffix)
	if err == nil && json.Unmarshal(data, &n) == nil && n.Bytes == info.Size() {
		sha256 = n.SHA256
	}
	return r.Source, sha256
}

// folderOf is the folder of the set that a file belongs to.
func (f *Fetcher) folderOf(path string) (string, bool) {
	rel, err := filepath.Rel(f.cfg.Dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	first, _, _ := cutPath(rel)
	return filepath.Join(f.cfg.Dir, first), folderName.MatchString(first)
}

func cutPath(rel string) (first, rest string, found bool) {
	for i := range len(rel) {
		if os.IsPathSeparator(rel[i]) {
			return rel[:i], rel[i+1:], true
		}
	}
	return rel, "", false
}

func readRecord(folder string) (record, error) {
	var r record
	found, err := durable.ReadJSON(filepath.Join(folder, recordName), &r)
	if err == nil && !found {
		err = fs.ErrNotExist
	}
	return r, err
}

// ErrKept says that weights were not removed; the error says why.
var ErrKept = errors.New("fetch: the weights are kept")

func kept(format string, args ...any) error {
	return &keptError{fmt.Sprintf(format, args...)}
}

type keptError struct{ text string }

// Error is the sentence.
func (e *keptError) Error() string { return e.text }

// Is matches ErrKept.
func (e *keptError) Is(target error) bool { return target == ErrKept }

// Remove removes a set by the name of its folder, and gives how many bytes that
// freed. Nothing is removed that was not fetched, is being fetched, is needed by
// what needed says of its source and folder, is open in any process that can be
// looked into, or lies on a disk that other machines share. Errors match ErrKept,
// or are the disk's.
func (f *Fetcher) Remove(name string, needed func(source, folder string) (why string)) (freed int64, err error) {
	f.removing.Lock()
	defer f.removing.Unlock()
	folder := filepath.Join(f.cfg.Dir, name)
	if !folderName.MatchString(name) {
		return 0, kept("no agent fetched it; remove it by hand")
	}
	r, err := readRecord(folder)
	if err != nil {
		return 0, kept("it is not there, or no agent fetched it")
	}
	if sharedDisk(folder) {
		return 0, kept("it lies on a disk that other machines share, and they may use it; remove it by hand")
	}
	lock, err := os.OpenFile(filepath.Join(folder, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return 0, fmt.Errorf("fetch: lock %s: %w", folder, err)
	}
	defer lock.Close()
	// From here on nobody begins to fetch into it, until it is gone.
	switch held, err := durable.TryLock(lock); {
	case err != nil:
		return 0, fmt.Errorf("fetch: lock %s: %w", folder, err)
	case !held:
		return 0, kept("it is being fetched")
	}
	if why := needed(r.Source, folder); why != "" {
		return 0, kept("%s", why)
	}
	if user := openIn(folder); user != "" {
		return 0, kept("%s has it open", user)
	}
	return f.unlink(folder)
}

// unlink removes a folder: under another name first, so that what is left of it
// after a crash is nobody's weights.
func (f *Fetcher) unlink(folder string) (freed int64, err error) {
	_ = filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				freed += info.Size()
			}
		}
		return nil
	})
	gone := filepath.Join(f.cfg.Dir, goneFolder)
	if err := os.MkdirAll(gone, 0o700); err != nil {
		return 0, err
	}
	to := filepath.Join(gone, filepath.Base(folder))
	_ = os.RemoveAll(to)
	if err := os.Rename(folder, to); err != nil {
		return 0, err
	}
	_ = durable.SyncDir(f.cfg.Dir)
	return freed, os.RemoveAll(gone)
}

// Sweep removes the sets that nobody is fetching and that nothing was written to for
// so long: what is left of fetches that were given up. It is for a folder whose files
// are of no use once they were fetched, and not for weights.
func (f *Fetcher) Sweep(idle time.Duration) {
	entries, err := os.ReadDir(f.cfg.Dir)
	if err != nil {
		return // nothing was ever fetched
	}
	for _, e := range entries {
		folder := filepath.Join(f.cfg.Dir, e.Name())
		if folderName.MatchString(e.Name()) && time.Since(newest(folder)) > idle {
			f.sweep(folder)
		}
	}
}

func (f *Fetcher) sweep(folder string) {
	f.removing.Lock()
	defer f.removing.Unlock()
	lock, err := os.OpenFile(filepath.Join(folder, lockName), os.O_RDWR, 0o600)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		defer lock.Close()
		if held, err := durable.TryLock(lock); err != nil || !held {
			return
		}
	}
	if freed, err := f.unlink(folder); err != nil {
		f.cfg.Logger.Warn("what is left of a fetch cannot be removed", "folder", folder, "err", err)
	} else {
		f.cfg.Logger.Info("what was left of a fetch is removed", "folder", folder, "bytes", freed)
	}
}

// newest is when anything below a folder was last written.
func newest(folder string) time.Time {
	var at time.Time
	_ = filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // the rest says enough
		}
		if info, err := e.Info(); err == nil && info.ModTime().After(at) {
			at = info.ModTime()
		}
		return nil
	})
	return at
}

// Needs reports whether a shard is defined by a set: by its source, or by the
// folder that holds it.
func Needs(d protocol.DesiredShard, source, folder string) bool {
	var sets []Set
	if w, err := Weights(d); err == nil {
		sets = append(sets, w)
	}
	for _, ad := range d.Adapters {
		if w, err := Adapter(ad, d.Engine); err == nil {
			sets = append(sets, w)
		}
	}
	for _, w := range sets {
		if !w.empty() && (w.shown() == source || w.key() == folder) {
			return true
		}
	}
	return false
}

// Sets are all that a shard needs on disk, weights first. Its errors are an *Error.
func Sets(d protocol.DesiredShard) ([]Set, error) {
	w, err := Weights(d)
	if err != nil {
		return nil, err
	}
	out := []Set{w}
	for _, ad := range d.Adapters {
		w, err := Adapter(ad, d.Engine)
		if err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	return out, nil
}
