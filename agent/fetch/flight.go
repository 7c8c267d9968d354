package fetch

import (
	"context"
	"sync"
	"time"

	"llmgw.io/llmgw/inventory"
)

// rateWindow is over how long a rate is measured: long enough to be steady,
// short enough to show a download that slows down.
const rateWindow = 10 * time.Second

// flight is one set under way.
type flight struct {
	cancel  context.CancelFunc
	waiters int
	done    chan struct{}
	paths   []string
	err     error

	mu       sync.Mutex
	progress progress
	// trouble is why nothing comes at the moment. Empty: something does.
	trouble string
}

// progress counts what of a set is there.
type progress struct {
	done  int64 // of the files before the present one, and of it
	total int64 // of those whose size is known; the present one's included
	whole int64 // of the set, as its sources say; 0: unknown
	marks []mark
}

type mark struct {
	at   time.Time
	done int64
}

// snapshot is the progress as it is reported.
func (fl *flight) snapshot(w Set) (out inventory.Fetch, trouble string) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	p := &fl.progress
	now := time.Now()
	p.marks = append(p.marks, mark{now, p.done})
	for len(p.marks) > 2 && now.Sub(p.marks[0].at) > rateWindow {
		p.marks = p.marks[1:]
	}
	out = inventory.Fetch{Source: w.shown(), BytesDone: p.done, BytesTotal: max(p.total, p.whole, w.bytes())}
	first := p.marks[0]
	if span := now.Sub(first.at).Seconds(); span > 0 && p.done > first.done {
		out.BytesPerSecond = int64(float64(p.done-first.done) / span)
	}
	return out, fl.trouble
}

// stuck notes why nothing comes; empty when something does again.
func (fl *flight) stuck(why string) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	fl.trouble = why
}

// add counts bytes that came; a negative number takes back what is fetched anew.
func (fl *flight) add(n int64) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if fl.progress.done += n; n < 0 {
		fl.progress.marks = nil
	} else {
		fl.trouble = ""
	}
}

// expect adds to what is to come.
func (fl *flight) expect(n int64) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	fl.progress.total += n
}

// size notes what the whole set has.
func (fl *flight) size(n int64) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	fl.progress.whole = n
}
