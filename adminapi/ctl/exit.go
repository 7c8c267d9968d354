package ctl

import (
	"errors"
	"fmt"
)

// usageError says that the command line is wrong.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// ExitCode is what a process should exit with after a command: 0 for none, 2
// when the command line was wrong, what an error with a method Exit says, else 1.
func ExitCode(err error) int {
	var u *usageError
	var own interface {
		error
		Exit() int
	}
	switch {
	case err == nil:
		return 0
	case errors.As(err, &u):
		return 2
	case errors.As(err, &own):
		return own.Exit()
	}
	return 1
}
