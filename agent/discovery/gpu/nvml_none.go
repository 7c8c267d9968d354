//go:build !linux || !cgo

package gpu

import (
	"context"
	"fmt"
	"runtime"
)

// errNone says what this build lacks.
func errNone() error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("%w: this build reads no GPUs: it is for %s", ErrNoDriver, runtime.GOOS)
	}
	return fmt.Errorf("%w: this build reads no GPUs: built without cgo", ErrNoDriver)
}

// ReadDriver of this build reads nothing, and says why.
func ReadDriver(string) (Snapshot, error) { return Snapshot{}, errNone() }

// ReadEvents of this build hears nothing, and says why.
func ReadEvents(context.Context, string, func(Event)) error { return errNone() }
