package router

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"llmgw.io/llmgw/storage"
)

// Rows are written ahead into segments: files of frames, each a length, a
// checksum and a row as JSON. A segment is written by one process, shipped to
// the store as a whole and then removed, so nothing in it is ever changed.
const (
	frameHead  = 8 // length and CRC-32C, little-endian
	maxFrame   = 1 << 20
	segmentExt = ".wal"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendFrame appends a row with its frame.
func appendFrame(dst []byte, row *storage.Request) []byte {
	from := len(dst)
	dst = append(dst, make([]byte, frameHead)...)
	dst = appendRow(dst, row)
	body := dst[from+frameHead:]
	binary.LittleEndian.PutUint32(dst[from:], uint32(len(body)))
	binary.LittleEndian.PutUint32(dst[from+4:], crc32.Checksum(body, castagnoli))
	return dst
}

// readFrames reads rows until the end or the first frame that is not whole,
// which is what a process leaves that dies while it writes. torn tells that
// bytes were left over.
func readFrames(b []byte) (rows []storage.Request, torn bool) {
	for len(b) > 0 {
		if len(b) < frameHead {
			return rows, true
		}
		n := binary.LittleEndian.Uint32(b)
		if n > maxFrame || int(n) > len(b)-frameHead {
			return rows, true
		}
		body := b[frameHead : frameHead+int(n)]
		var row storage.Request
		if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(b[4:]) || json.Unmarshal(body, &row) != nil {
			return rows, true
		}
		rows = append(rows, row)
		b = b[frameHead+int(n):]
	}
	return rows, false
}

// segment is one file of rows, and the rows themselves while there is room.
type segment struct {
	path string
	file *os.File // nil when closed, or where nothing is written ahead yet
	size int64
	// rows are nil in a segment that has to be read from its file.
	rows []storage.Request
	// partial tells that some rows are in memory only.
	partial bool
	// dirty counts rows that are not known to be on the disk.
	dirty int
}

// load returns the segment's rows.
func (s *segment) load() (rows []storage.Request, torn bool, err error) {
	if s.rows != nil || s.path == "" {
		return s.rows, false, nil
	}
	b, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read rows written ahead: %w", err)
	}
	rows, torn = readFrames(b)
	return rows, torn, nil
}

// remove ends a segment whose rows are kept.
func (s *segment) remove() error {
	if s.path == "" {
		return nil
	}
	if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove rows that are kept: %w", err)
	}
	return nil
}

// createSegment makes the file with that number. It never takes one that is
// there already: another process may have left it.
func createSegment(dir string, number uint64) (*segment, error) {
	path := filepath.Join(dir, fmt.Sprintf("%016x%s", number, segmentExt))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("write rows ahead: %w", err)
	}
	return &segment{path: path, file: f}, nil
}

// leftSegments finds what an earlier process left, oldest first, and the number
// to go on with.
func leftSegments(dir string) (left []*segment, next uint64, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, 0, fmt.Errorf("make the folder for rows written ahead: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, 0, fmt.Errorf("look for rows written ahead: %w", err)
	}
	for _, e := range entries {
		digits, ok := strings.CutSuffix(e.Name(), segmentExt)
		number, err := strconv.ParseUint(digits, 16, 64)
		if !ok || err != nil {
			continue
		}
		next = max(next, number+1)
		s := &segment{path: filepath.Join(dir, e.Name())}
		if info, err := e.Info(); err == nil {
			s.size = info.Size()
		}
		left = append(left, s)
	}
	slices.SortFunc(left, func(a, b *segment) int { return strings.Compare(a.path, b.path) })
	return left, next, nil
}
