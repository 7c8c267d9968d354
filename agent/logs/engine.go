package logs

import (
	"bytes"
	"io"
	"os"
	"strings"

	"llmgw.io/llmgw/internal/durable"
)

// Engine is the name of an engine's log in its shard's folder.
const Engine = "engine.log"

const (
	// engineBytes is when a log is cut; engineFiles how many there are, the one
	// that is written included.
	engineBytes = 20 << 20
	engineFiles = 3
	// lastBytes and lastCount bound what is reported of a log at a failure.
	lastBytes = 64 << 10
	lastCount = 40
	// tailBytes and tailCount bound what the end of an engine is explained by.
	tailBytes = 256 << 10
	tailCount = 400
	lineBytes = 1 << 10
)

// IsEngine reports whether a file's name is of an engine's log, or of one that
// was put aside.
func IsEngine(name string) bool { return name == Engine || strings.HasPrefix(name, Engine+".") }

// Bound puts a log aside that has grown too large. The engine may be writing.
func Bound(path string) { rotate(path, engineBytes) }

// PutAside puts a log aside before another engine writes to it.
func PutAside(path string) { rotate(path, 0) }

// rotate makes room in a log that has more than limit bytes. The engine keeps
// its file open and knows nothing of this, so the log is copied away and cut in
// place; lines written between the two are lost, and nothing else is.
func rotate(path string, limit int64) {
	info, err := os.Stat(path)
	if err != nil || info.Size() <= limit {
		return
	}
	for n := engineFiles - 1; n > 1; n-- {
		_ = os.Rename(numbered(path, n-1), numbered(path, n))
	}
	if err := copyFile(path, numbered(path, 1)); err != nil && !durable.Full(err) {
		return
	}
	// A full disk needs the room more than the log needs its past.
	_ = os.Truncate(path, 0)
}

func numbered(path string, n int) string { return path + "." + string(rune('0'+n)) }

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close()
		_ = os.Remove(to)
		return err
	}
	return out.Close()
}

// Append opens a log for an engine to write to, mode 0600. It can be cut in place
// because every write goes to its end.
func Append(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
}

// Last are the last lines of a log, oldest first, for a failure's report. None:
// it cannot be read.
func Last(path string) []string { return lines(path, lastBytes, lastCount) }

// Tail is more of a log's end, in which the cause of a failure is looked for: some
// engines end with pages of what follows from it.
func Tail(path string) []string { return lines(path, tailBytes, tailCount) }

// lines are the last lines of what a log ends with.
func lines(path string, most int64, count int) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > most {
		_, _ = f.Seek(-most, io.SeekEnd)
	}
	data, _ := io.ReadAll(io.LimitReader(f, most))
	var out []string
	for line := range bytes.SplitSeq(bytes.TrimSpace(data), []byte("\n")) {
		if line = bytes.TrimRight(line, "\r"); len(line) > 0 {
			out = append(out, strings.ToValidUTF8(string(line[:min(len(line), lineBytes)]), "?"))
		}
	}
	return out[max(0, len(out)-count):]
}
