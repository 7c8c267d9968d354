package gguf

import (
	"errors"
	"fmt"
)

// Why a file is refused. Each error matches one of them, and its text says what
// was found; it does not name the file, which the caller knows.
var (
	// ErrFormat says that the file is no GGUF file, or of a version nobody reads.
	ErrFormat = errors.New("gguf: no GGUF file")
	// ErrShort says that the file ends before what its header promises.
	ErrShort = errors.New("gguf: the file ends too early")
	// ErrBroken says that the header contradicts itself or goes beyond every bound.
	ErrBroken = errors.New("gguf: the header is broken")
)

// problem is an error of a kind whose text stands alone.
type problem struct {
	kind error
	text string
}

// Error is the sentence.
func (p *problem) Error() string { return p.text }

// Unwrap gives the kind.
func (p *problem) Unwrap() error { return p.kind }

func noGGUF(format string, args ...any) error {
	return &problem{ErrFormat, fmt.Sprintf(format, args...)}
}

func short(format string, args ...any) error { return &problem{ErrShort, fmt.Sprintf(format, args...)} }

func broken(format string, args ...any) error {
	return &problem{ErrBroken, fmt.Sprintf(format, args...)}
}
