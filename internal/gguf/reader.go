package gguf

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

var order = binary.LittleEndian

// piece is how much is read at once.
const piece = 64 << 10

// reader reads a header from its start, and never more than it may.
type reader struct {
	r    *bufio.Reader
	at   int64
	size int64 // of the file; -1: unknown
	buf  []byte
}

func newReader(r io.ReaderAt, size int64) *reader {
	limit := int64(MaxHeader)
	if size >= 0 {
		limit = min(limit, size)
	}
	return &reader{r: bufio.NewReaderSize(io.NewSectionReader(r, 0, limit), piece), size: size}
}

// take gives the next n bytes, good until the next call. The room for them is
// made as they come, so that a length that lies costs nothing.
func (in *reader) take(n int) ([]byte, error) {
	in.buf = in.buf[:0]
	for len(in.buf) < n {
		k := min(n-len(in.buf), piece)
		from := len(in.buf)
		in.buf = append(in.buf, make([]byte, k)...)
		got, err := io.ReadFull(in.r, in.buf[from:])
		in.at += int64(got)
		if err != nil {
			return nil, in.ended(err)
		}
	}
	return in.buf, nil
}

// skip leaves out n bytes.
func (in *reader) skip(n int64) error {
	if n > MaxHeader-in.at {
		return in.tooLong()
	}
	got, err := in.r.Discard(int(n))
	in.at += int64(got)
	if err != nil {
		return in.ended(err)
	}
	return nil
}

func (in *reader) tooLong() error {
	if in.size >= 0 && in.size <= MaxHeader {
		return short("it has %d bytes and ends within its header: it is not whole", in.size)
	}
	return broken("its header is longer than %d MiB", MaxHeader>>20)
}

func (in *reader) ended(err error) error {
	switch {
	case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case in.at >= MaxHeader:
		return broken("its header is longer than %d MiB", MaxHeader>>20)
	}
	return short("it ends after %d bytes, within its header: it is not whole", in.at)
}

func (in *reader) u32() (uint32, error) {
	b, err := in.take(4)
	if err != nil {
		return 0, err
	}
	return order.Uint32(b), nil
}

func (in *reader) u64() (uint64, error) {
	b, err := in.take(8)
	if err != nil {
		return 0, err
	}
	return order.Uint64(b), nil
}

// text reads a string of at most limit bytes.
func (in *reader) text(limit int, what string) (string, error) {
	n, err := in.u64()
	if err != nil {
		return "", err
	}
	if n > uint64(limit) {
		return "", broken("%s claims %d bytes", what, n)
	}
	b, err := in.take(int(n))
	return string(b), err
}
