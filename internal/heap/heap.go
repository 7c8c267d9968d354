package heap

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// garbage is how much is kept at most, in bytes.
	garbage = 128 << 20
	// usual is the default of Go, in percent of what is in use; least bounds the
	// time that is spent on collecting.
	usual, least = 100, 10
	// every is how often is looked at what is in use, and step how far the share must
	// move to be set anew: that stops the process for a moment.
	every = time.Second
	step  = 3
)

// Run bounds garbage until ctx ends.
func Run(ctx context.Context) error {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	t := time.NewTicker(every)
	defer t.Stop()
	is := usual
	for {
		select {
		case <-ctx.Done():
			debug.SetGCPercent(usual)
			return nil
		case <-t.C:
		}
		if want := percent(inUse()); want-is >= step || is-want >= step {
			debug.SetGCPercent(want)
			is = want
		}
	}
}

// percent is the share that garbage may have of what is in use, in bytes.
func percent(used uint64) int {
	if used == 0 {
		return usual
	}
	return int(min(usual, max(least, 100*garbage/used)))
}

// inUse is what the last collection found: the heap, stacks and globals.
func inUse() (bytes uint64) {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	metrics.Read(s)
	for _, one := range s {
		if one.Value.Kind() == metrics.KindUint64 {
			bytes += one.Value.Uint64()
		}
	}
	return bytes
}
