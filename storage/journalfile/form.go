package journalfile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"time"

	"llmgw.io/llmgw/storage"
)

// A file is one gzip stream, so that zcat shows it. In it entries stand one after
// the other: a line with number, time, epoch, kind, length and CRC-32C of the
// data, then the data and a line's end. Each entry is flushed whole, so that all
// of one that was appended can be read though the stream never ended. A file
// begins with a base and can be read alone; its name is the number of its first
// entry.
const (
	fileExt    = ".journal.gz"
	headFormat = "%d %s %d %s %d %08x\n"
	// maxHead bounds the line before an entry, in bytes.
	maxHead = 256
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errEnd says that a file has no further entry, and nothing was lost.
var errEnd = errors.New("journalfile: the end of the file")

func writeEntry(w io.Writer, e *storage.JournalEntry) error {
	_, err := fmt.Fprintf(w, headFormat, e.Seq, e.At.UTC().Format(time.RFC3339Nano), e.Epoch, e.Kind, len(e.Data), crc32.Checksum(e.Data, castagnoli))
	if err != nil {
		return err
	}
	if _, err := w.Write(e.Data); err != nil {
		return err
	}
	_, err = w.Write([]byte{'\n'})
	return err
}

// reader reads the entries of one file.
type reader struct {
	file *os.File
	text *bufio.Reader
}

// openFile opens a file for reading. A file whose writer ended before it wrote
// anything has no entries.
func openFile(path string) (*reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bufio.NewReaderSize(f, 64<<10))
	switch {
	case errors.Is(err, io.EOF):
		return &reader{file: f}, nil
	case err != nil:
		return nil, errors.Join(torn(path, "its head is not whole"), f.Close())
	}
	return &reader{file: f, text: bufio.NewReaderSize(z, 64<<10)}, nil
}

func (r *reader) close() { _ = r.file.Close() }

// next reads an entry. Its errors match errEnd, or storage.ErrTorn where bytes
// are left that make none: nothing after them can be trusted.
func (r *reader) next() (storage.JournalEntry, error) {
	var e storage.JournalEntry
	if r.text == nil {
		return e, errEnd
	}
	head, err := r.text.ReadSlice('\n')
	if err != nil {
		if len(head) == 0 && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
			return e, errEnd
		}
		return e, torn(r.file.Name(), "the line before an entry is not whole")
	}
	var at, kind string
	var size int
	var sum uint32
	if len(head) > maxHead {
		return e, torn(r.file.Name(), "the line before an entry is too long")
	}
	if _, err := fmt.Sscanf(string(head), headFormat, &e.Seq, &at, &e.Epoch, &kind, &size, &sum); err != nil {
		return e, torn(r.file.Name(), "the line before an entry does not read")
	}
	if e.At, err = time.Parse(time.RFC3339Nano, at); err != nil || size < 0 || size > storage.MaxJournalEntry {
		return e, torn(r.file.Name(), "the line before an entry does not read")
	}
	e.Kind = storage.JournalKind(kind)
	// Copied as it comes: the length may be a lie.
	var data bytes.Buffer
	if _, err := io.CopyN(&data, r.text, int64(size)+1); err != nil {
		return e, torn(r.file.Name(), fmt.Sprintf("entry %d is not whole", e.Seq))
	}
	e.Data = data.Bytes()[:size:size]
	if crc32.Checksum(e.Data, castagnoli) != sum || data.Bytes()[size] != '\n' || e.Check() != nil {
		return e, torn(r.file.Name(), fmt.Sprintf("entry %d is damaged", e.Seq))
	}
	return e, nil
}

func torn(path, what string) error { return fmt.Errorf("%w: %s: %s", storage.ErrTorn, path, what) }
