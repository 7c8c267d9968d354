//go:build !linux

package gpu

import (
	"context"
	"errors"
)

// readKernel has no log to read here.
func readKernel(context.Context, string, func(Event)) error {
	return errors.New("gpu: this system has no log of the kernel to read")
}
