package fetch

import (
	"context"
	"crypto/sha1" //nolint:gosec // see checkBlob
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/internal/durable"
)

const (
	// partSuffix is of a file that is not whole, noteSuffix of what is known
	// about one.
	partSuffix = ".part"
	noteSuffix = ".note"
	// idleTries is how often in a row a download may bring nothing before it is
	// given up; one that brings something is tried for ever.
	idleTries = 8
	// idleTriesElsewhere is the same where there is another source left.
	idleTriesElsewhere = 2
	// checkRoom is after how many bytes the disk is looked at again.
	checkRoom = 64 << 20
)

// download brings one file. What is under its final name is whole and right;
// everything else is under another name.
type download struct {
	f    *Fetcher
	root *os.Root
	file setFile
	fl   *flight

	counted int64 // bytes of this file in the flight's progress
	total   int64 // as counted there
}

// note is what is known of a part or of a whole file.
type note struct {
	URL    string `json:"url"`
	ETag   string `json:"etag,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	Blob   string `json:"blob,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"`
}

// errCut means that the server stopped before the end; it is gone on with.
var errCut = errors.New("the connection was cut")

func (d *download) run(ctx context.Context) error {
	if dir := path.Dir(d.file.name); dir != "." {
		if err := d.root.MkdirAll(filepath.FromSlash(dir), 0o755); err != nil {
			return diskFailure(err, d.root.Name())
		}
	}
	if n, ok := d.have(ctx); ok {
		d.count(n)
		d.expect(n)
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	var last error
	from, err := d.f.places(d.file)
	if err != nil {
		return err
	}
	for i, place := range from {
		tries := idleTries
		if i+1 < len(from) {
			tries = idleTriesElsewhere
		}
		last = d.from(ctx, place, tries)
		var f *Error
		if last == nil || ctx.Err() != nil || errors.As(last, &f) && f.Cause == protocol.CauseDisk {
			return last
		}
	}
	return last
}

// have reports whether the whole file is there. It was verified when it got its
// name; one without a note is read again.
func (d *download) have(ctx context.Context) (int64, bool) {
	info, err := d.root.Stat(d.name(""))
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return 0, false
	}
	var n note
	if d.readNote("", &n) && n.Bytes == info.Size() && (d.file.sha256 == "" || n.SHA256 == d.file.sha256) && (d.file.blob == "" || n.Blob == d.file.blob) {
		return info.Size(), true
	}
	if d.file.sha256 != "" {
		got, err := sumFile(ctx, filepath.Join(d.root.Name(), d.name("")))
		return info.Size(), err == nil && got == d.file.sha256
	}
	return 0, false
}

// from tries one source until it is done, or must not or need not be tried again.
func (d *download) from(ctx context.Context, url string, tries int) error {
	wait, idle := d.f.cfg.Retry, 0
	for {
		before := d.counted
		err := d.attempt(ctx, url)
		if err == nil || ctx.Err() != nil {
			return err
		}
		var f *Error
		if errors.As(err, &f) {
			return err
		}
		if d.counted > before {
			idle, wait = 0, d.f.cfg.Retry
		} else if idle++; idle >= tries {
			return failed(protocol.CauseFetch, fmt.Sprintf("%s cannot be fetched from %s: %v, %d times in a row; check the address and the network of this node",
				path.Base(d.file.name), shown(url), err, idle))
		}
		d.fl.stuck(fmt.Sprintf("fetching is tried again: %v", err))
		var later *retryAfter
		pause := wait/2 + rand.N(wait)
		if errors.As(err, &later) {
			pause = max(pause, later.wait)
		}
		d.f.cfg.Logger.Info("a download is gone on with", "file", path.Base(d.file.name), "in", pause, "err", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		wait = min(2*wait, time.Minute)
	}
}

// attempt asks once, from where the part ends.
func (d *download) attempt(ctx context.Context, url string) error {
	part, err := d.root.OpenFile(d.name(partSuffix), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return diskFailure(err, d.root.Name())
	}
	defer part.Close()
	h := sha256.New()
	offset, known, err := d.prefix(ctx, part, url, h)
	if err != nil {
		return err
	}
	d.set(offset)
	if d.file.sha256 != "" && hex.EncodeToString(h.Sum(nil)) == d.file.sha256 {
		d.expect(offset)
		return d.finish(part, offset, h, note{URL: url, ETag: known.ETag})
	}
	ans, err := d.ask(ctx, url, offset, known)
	if err != nil {
		return err
	}
	defer ans.close()
	// An answer that cannot be the file takes nothing away of what is there.
	if err := d.fits(ans.total, ans.offset); err != nil {
		return err
	}
	if ans.offset == 0 && offset > 0 {
		h.Reset()
		offset = 0
		d.set(0)
	}
	if err := part.Truncate(offset); err != nil {
		return diskFailure(err, d.root.Name())
	}
	if err := d.writeNote(partSuffix, note{URL: url, ETag: ans.etag, SHA256: d.file.sha256}); err != nil {
		return diskFailure(err, d.root.Name())
	}
	got, err := d.copy(part, offset, h, ans)
	if err != nil {
		return err
	}
	return d.finish(part, got, h, note{URL: url, ETag: ans.etag, Bytes: offset})
}

// prefix reads the part that is there into the hash, so that what an earlier
// agent wrote is verified with the rest. A part of another file is dropped.
func (d *download) prefix(ctx context.Context, part *os.File, url string, h hash.Hash) (int64, note, error) {
	var n note
	ok := d.readNote(partSuffix, &n)
	same := d.file.sha256 != "" && n.SHA256 == d.file.sha256 || n.URL == url && n.ETag != "" && n.SHA256 == d.file.sha256
	if !ok || !same {
		return 0, note{}, diskOrNil(part.Truncate(0), d.root.Name())
	}
	if n.URL != url {
		n.ETag = "" // another server's
	}
	size, err := io.Copy(h, &ctxReader{ctx, part})
	if err != nil {
		if ctx.Err() != nil {
			return 0, note{}, ctx.Err()
		}
		h.Reset()
		return 0, note{}, diskOrNil(part.Truncate(0), d.root.Name())
	}
	return size, n, nil
}

// fits refuses what is known to be wrong, or too big, before it is fetched.
func (d *download) fits(total, offset int64) error {
	if total == 0 {
		return failed(protocol.CauseHash, fmt.Sprintf("%s is empty at its source; the file there is broken or not yet uploaded", path.Base(d.file.name)))
	}
	if d.file.bytes > 0 && total > 0 && total != d.file.bytes {
		return failed(protocol.CauseHash, fmt.Sprintf("%s has %d bytes at its source and should have %d; correct the definition or the source", path.Base(d.file.name), total, d.file.bytes))
	}
	if total < 0 {
		total = d.file.bytes
	}
	d.expect(total)
	return d.f.room(d.root.Name(), total-offset)
}

// copy streams the answer to disk and into the hash.
func (d *download) copy(part *os.File, at int64, h hash.Hash, ans *answer) (int64, error) {
	if _, err := part.Seek(at, io.SeekStart); err != nil {
		return at, diskFailure(err, d.root.Name())
	}
	buf := make([]byte, 256<<10)
	for next := at + checkRoom; ; {
		n, rerr := ans.read(buf)
		if n > 0 {
			if _, err := part.Write(buf[:n]); err != nil {
				return at, diskFailure(err, d.root.Name())
			}
			_, _ = h.Write(buf[:n])
			at += int64(n)
			d.count(int64(n))
		}
		if ans.total >= 0 && at > ans.total {
			return at, d.wrong(fmt.Sprintf("%s brings more bytes than the %d it was said to have", path.Base(d.file.name), ans.total))
		}
		if errors.Is(rerr, io.EOF) {
			break
		}
		if rerr != nil {
			return at, fmt.Errorf("%w after %d bytes: %w", errCut, at, rerr)
		}
		if at >= next {
			next = at + checkRoom
			if err := d.f.room(d.root.Name(), ans.total-at); err != nil {
				return at, err
			}
		}
	}
	if ans.total >= 0 && at < ans.total {
		return at, fmt.Errorf("%w after %d of %d bytes", errCut, at, ans.total)
	}
	return at, nil
}

// finish gives a file that is right its name. The note's Bytes are those that
// were there before this attempt.
func (d *download) finish(part *os.File, size int64, h hash.Hash, n note) error {
	base, resumed := path.Base(d.file.name), n.Bytes > 0
	got := hex.EncodeToString(h.Sum(nil))
	switch {
	case size == 0:
		return d.wrong(base + " is empty at its source; the file there is broken or not yet uploaded")
	case d.file.bytes > 0 && size != d.file.bytes:
		return d.wrong(fmt.Sprintf("%s has %d bytes and should have %d; correct the definition or the source", base, size, d.file.bytes))
	case d.file.sha256 != "" && got != d.file.sha256 && resumed:
		// What was there before may be at fault: once more, from the start.
		d.drop()
		return fmt.Errorf("the hash of %s was wrong after going on with a part", base)
	case d.file.sha256 != "" && got != d.file.sha256:
		return d.wrong(fmt.Sprintf("%s has the hash %s and should have %s; the source has another file, or the definition is wrong", base, got, d.file.sha256))
	}
	if err := d.checkBlob(part, size); err != nil {
		return err
	}
	if err := part.Sync(); err != nil {
		return diskFailure(err, d.root.Name())
	}
	n.SHA256, n.Bytes, n.Blob = got, size, d.file.blob
	if err := d.root.Rename(d.name(partSuffix), d.name("")); err != nil {
		return diskFailure(err, d.root.Name())
	}
	_ = durable.SyncDir(filepath.Join(d.root.Name(), filepath.FromSlash(path.Dir(d.file.name))))
	_ = d.root.Remove(d.name(partSuffix + noteSuffix))
	return diskOrNil(d.writeNote("", n), d.root.Name())
}

// checkBlob holds a file to git's own hash, which hubs give for small files.
func (d *download) checkBlob(part *os.File, size int64) error {
	if d.file.blob == "" {
		return nil
	}
	h := sha1.New() //nolint:gosec // git's, and not ours to choose; what is dangerous to get wrong has a SHA-256
	fmt.Fprintf(h, "blob %d\x00", size)
	if _, err := io.Copy(h, io.NewSectionReader(part, 0, size)); err != nil {
		return diskFailure(err, d.root.Name())
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != d.file.blob {
		return d.wrong(fmt.Sprintf("%s has git's hash %s and should have %s; the hub has another file than it says", path.Base(d.file.name), got, d.file.blob))
	}
	return nil
}

// wrong drops what was fetched: it is not what was wanted and never will be.
func (d *download) wrong(text string) error {
	d.drop()
	return failed(protocol.CauseHash, text)
}

func (d *download) drop() {
	_ = d.root.Remove(d.name(partSuffix))
	_ = d.root.Remove(d.name(partSuffix + noteSuffix))
	d.set(0)
}

func (d *download) name(suffix string) string { return filepath.FromSlash(d.file.name) + suffix }

func (d *download) readNote(of string, n *note) bool {
	data, err := d.root.ReadFile(d.name(of + noteSuffix))
	return err == nil && json.Unmarshal(data, n) == nil
}

func (d *download) writeNote(of string, n note) error {
	data, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return d.root.WriteFile(d.name(of+noteSuffix), data, 0o644)
}

// count, set and expect keep the flight's sums right while one file goes back.
func (d *download) count(n int64) { d.counted += n; d.fl.add(n) }

func (d *download) set(n int64) {
	if n != d.counted {
		d.count(n - d.counted)
	}
}

func (d *download) expect(n int64) {
	d.fl.expect(n - d.total)
	d.total = n
}
