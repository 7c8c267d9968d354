package router

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// slowWay takes what it is given, or says that it is busy, or that it is none.
type slowWay struct {
	busy    bool
	broken  error
	synced  []time.Duration // when each was taken
	folders int
	start   time.Time
	closed  bool
}

func (w *slowWay) Sync(_, folder *os.File) (bool, error) {
	if w.busy || w.broken != nil {
		return false, w.broken
	}
	if folder != nil {
		w.folders++
	}
	w.synced = append(w.synced, time.Since(w.start))
	return true, nil
}

func (w *slowWay) Write(f *os.File, p []byte) (int, error) { return f.Write(p) }
func (w *slowWay) Close()                                  { w.closed = true }

// over is a ledger that runs with that way to the disk. do changes the way.
func over(t *testing.T, w *slowWay) (l *ledger, do func(func()), stop func()) {
	t.Helper()
	l = openLedger(t, t.TempDir(), &books{away: true}, 0)
	stop = runLedger(t, l)
	synctest.Wait()
	do = func(f func()) {
		l.mu.Lock()
		defer l.mu.Unlock()
		f()
	}
	do(func() {
		if l.disk.way != nil {
			l.disk.way.Close()
		}
		folder, err := os.Open(l.dir)
		if err != nil {
			t.Error(err)
		}
		w.start = time.Now()
		l.disk.way, l.disk.folder = w, folder
	})
	return l, do, stop
}

func record(l *ledger, from, to int) {
	for i := from; i < to; i++ {
		row := fullRow(fmt.Sprint(i))
		l.record(&row)
	}
}

// The first row is on its way at once, those that follow within 10 ms or 64 rows
// of the next one, and a new file's folder with its first.
func TestRowsAreOnTheirWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &slowWay{}
		l, do, stop := over(t, w)
		defer stop()
		record(l, 0, 1) // 0 ms: at once
		<-time.After(3 * time.Millisecond)
		record(l, 1, 4) // on their way at 13 ms
		<-time.After(20 * time.Millisecond)
		record(l, 4, 5) // 23 ms: at once
		<-time.After(time.Millisecond)
		record(l, 5, 5+syncRows+1) // 24 ms: 64 do not wait
		<-time.After(time.Millisecond)
		do(func() {
			want := []time.Duration{0, 13 * time.Millisecond, 23 * time.Millisecond, 24 * time.Millisecond}
			if fmt.Sprint(w.synced) != fmt.Sprint(want) || w.folders != 1 {
				t.Errorf("rows were sent on their way after %v, want %v, and %d folders", w.synced, want, w.folders)
			}
			if l.active.dirty > 1 {
				t.Errorf("%d rows wait, and at most the last one may", l.active.dirty)
			}
		})
	})
}

// A disk that is busy is asked again, and nothing is forgotten.
func TestBusyDiskIsAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &slowWay{busy: true}
		l, do, stop := over(t, w)
		defer stop()
		record(l, 0, 3)
		<-time.After(95 * time.Millisecond)
		do(func() {
			if l.active.dirty != 3 {
				t.Errorf("%d rows wait for the disk", l.active.dirty)
			}
			w.busy = false
		})
		<-time.After(10 * time.Millisecond)
		do(func() {
			if l.active.dirty != 0 || len(w.synced) != 1 || w.folders != 1 {
				t.Errorf("%d rows wait for the disk; it took %v", l.active.dirty, w.synced)
			}
		})
	})
}

// Where the system turns out to have no way, the router waits for the disk.
func TestNoWayToTheDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &slowWay{broken: errors.New("no such way")}
		l, do, stop := over(t, w)
		record(l, 0, 3)
		<-time.After(20 * time.Millisecond)
		do(func() {
			if l.active.dirty != 0 || !l.disk.off || l.fresh {
				t.Errorf("%d rows wait for the disk, off %v, fresh %v", l.active.dirty, l.disk.off, l.fresh)
			}
		})
		stop()
		if !w.closed {
			t.Error("the way is left open")
		}
	})
}
