package gpu

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// The driver's errors at its beginning that say more than their text.
const (
	returnNoPermission = 4
	returnNotLoaded    = 9
	returnNoLibrary    = 12
	returnMismatch     = 18
	returnUnknown      = 999
)

// beginError is why the driver's library could not be begun with, and what to do
// about it.
func beginError(code int, said string) error {
	switch code {
	case returnNoLibrary:
		return fmt.Errorf("%w: libnvidia-ml.so.1 is not installed", ErrNoDriver)
	case returnNotLoaded:
		return errors.New("gpu: the driver is installed, and its kernel module is not loaded; load it, or restart the machine")
	case returnNoPermission:
		return errors.New("gpu: the agent may not open the GPUs; let its user read and write /dev/nvidia*")
	case returnMismatch:
		return errors.New("gpu: the driver's library and its kernel module are of different versions; reload the driver, or restart the machine")
	case returnUnknown:
		return fmt.Errorf("gpu: the driver cannot be begun with (%s); in a container this is a device that was taken away: start the agent anew", said)
	}
	return fmt.Errorf("gpu: the driver cannot be begun with (%s)", said)
}

// missing is how the loader says that a library lacks a function.
var missing = regexp.MustCompile(`undefined symbol: (\w+)`)

// endError is why a child ended without an answer, by its exit code and the end
// of what it wrote.
func endError(code int, stderr string) error {
	if m := missing.FindStringSubmatch(stderr); m != nil {
		return fmt.Errorf("gpu: the driver is too old for the call %s; install a newer driver", m[1])
	}
	last := strings.TrimSpace(stderr)
	if i := strings.LastIndexByte(last, '\n'); i >= 0 {
		last = last[i+1:]
	}
	if len(last) > 200 {
		last = last[:200]
	}
	if last == "" {
		return fmt.Errorf("gpu: reading the driver ended with code %d and no word", code)
	}
	return fmt.Errorf("gpu: reading the driver ended with code %d: %s", code, last)
}
