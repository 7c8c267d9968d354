//go:build !linux

package durable

import (
	"errors"
	"os"
)

type system struct{}

func (*system) open() error { return errors.ErrUnsupported }

func (*system) sync(_, _ *os.File) (bool, error) { return false, errors.ErrUnsupported }

func (*system) write(f *os.File, p []byte) (int, error) { return f.Write(p) }

func (*system) close() {}
