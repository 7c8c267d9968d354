package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"llmgw.io/llmgw/agent/logs"
	"llmgw.io/llmgw/agent/process"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// shard makes one shard's desired state true, from one goroutine, for as long
// as the agent runs and the shard is wanted or not yet gone.
type shard struct {
	a   *Agent
	id  string
	log *slog.Logger
	// kick has room for one: what is wanted has changed.
	kick chan struct{}

	mu     sync.Mutex
	want   protocol.DesiredShard
	absent bool               // not in the list: stop, then forget
	up     context.CancelFunc // ends what only makes sense while it should run

	// Below is the goroutine's own.
	proc *process.Process
	gate gatekeeper
	// backOff is the next wait before a start without the control plane.
	backOff time.Duration
	starts  int
	since   time.Time
	state   inventory.ShardState
}

func newShard(a *Agent, d protocol.DesiredShard) *shard {
	return &shard{
		a: a, id: d.Shard, want: d, kick: make(chan struct{}, 1),
		log:     a.cfg.Logger.With("replica", d.Replica, "model", d.Model, "shard", d.Shard),
		backOff: a.cfg.Times.Retry,
	}
}

// order changes what is wanted. Absent means that the list no longer has it.
func (s *shard) order(d protocol.DesiredShard, absent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if absent {
		s.absent = true
	} else {
		s.want, s.absent = d, false
	}
	if s.stopping() && s.up != nil {
		s.up()
	}
	notify(s.kick)
}

// stopping is called with the lock held.
func (s *shard) stopping() bool { return s.absent || s.want.Want == protocol.WantStop }

// wish is what is wanted now.
func (s *shard) wish() (d protocol.DesiredShard, stop, absent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.want, s.stopping(), s.absent
}

// running gives a context that ends when the shard should no longer run.
func (s *shard) running(ctx context.Context) (context.Context, context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	s.up = cancel
	if s.stopping() {
		cancel()
	}
	return ctx, cancel
}

// run is the shard's life. It returns when ctx ends, which leaves the engine
// running, or when the shard is gone and forgotten.
func (s *shard) run(ctx context.Context) {
	err := s.adopt()
	s.leaveDevices()
	if err != nil {
		s.fail(err)
	}
	for ctx.Err() == nil {
		_, stop, _ := s.wish()
		switch {
		case stop:
			s.bringDown(ctx)
			s.leaveDevices()
			err = nil
			if _, _, absent := s.wish(); absent && ctx.Err() == nil {
				s.forget()
				return
			}
			s.wait(ctx, nil)
		case err != nil:
			if !s.waitFailed(ctx, err) {
				continue
			}
			err = s.bringUp(ctx)
		case s.proc == nil:
			err = s.bringUp(ctx)
		default:
			err = s.watch(ctx)
		}
		if s.proc == nil {
			s.closeGate()
		}
		s.leaveDevices()
		if errors.Is(err, context.Canceled) {
			err = nil // what was wanted has changed meanwhile
		}
		if err != nil && ctx.Err() == nil {
			s.fail(err)
		}
	}
}

// wait returns when what is wanted changes, or after c.
func (s *shard) wait(ctx context.Context, c <-chan time.Time) {
	select {
	case <-ctx.Done():
	case <-s.kick:
	case <-c:
	}
}

// waitFailed reports whether to start again. While the control plane is there
// that is its decision, and the shard stays failed; while it is away, and has
// not been told, the agent keeps the shard up by itself. A full disk is looked
// at again in any case.
func (s *shard) waitFailed(ctx context.Context, err error) bool {
	pause := s.backOff
	var f *failure
	again := errors.As(err, &f) && f.again
	if again {
		pause = s.a.cfg.Times.DiskRetry
	}
	due := time.NewTimer(pause)
	defer due.Stop()
	for isDue := false; ; {
		select {
		case <-ctx.Done():
			return false
		case <-s.kick:
			if _, stop, _ := s.wish(); stop {
				return false
			}
		case <-due.C:
			isDue = true
			due.Reset(max(time.Second, s.a.cfg.Times.Retry/4))
		}
		if isDue && (again || s.a.away() && !s.a.board.told(s.id)) {
			s.backOff = min(2*s.backOff, s.a.cfg.Times.RetryMax)
			return true
		}
	}
}

// fail reports an error as the shard's failure.
func (s *shard) fail(err error) {
	f := failed(protocol.CauseUnknown, err.Error())
	if errors.Is(err, errState) {
		f = fullDisk(fmt.Sprintf("the agent cannot keep its state: %v; make room on the disk of %s", err, s.a.cfg.DataDir))
	}
	_ = errors.As(err, &f)
	s.log.Warn("shard failed", "cause", string(f.Cause), "err", f.Text)
	s.say(inventory.ShardFailed, func(st *inventory.ShardStatus) {
		st.Error, st.Cause, st.LastLines = f.Text, string(f.Cause), f.lines
	})
}

// say reports a state; edit adds to a fresh status.
func (s *shard) say(state inventory.ShardState, edit func(*inventory.ShardStatus)) {
	s.mu.Lock()
	st := inventory.ShardStatus{ID: s.id, Model: string(s.want.Model), Profile: s.want.Profile, State: state, Starts: s.starts}
	s.mu.Unlock()
	if s.state != state || s.since.IsZero() {
		s.state, s.since = state, time.Now()
	}
	st.Since = s.since
	if s.proc != nil {
		st.Adopted = s.proc.Adopted()
	}
	if edit != nil {
		edit(&st)
	}
	s.a.board.put(st)
}

// dir is the shard's folder, in which only the agent writes.
func (s *shard) dir() string { return s.a.shardDir(s.id) }

// workDir is the folder below it that is the engine's own, or its user's.
func (s *shard) workDir(uid int) string {
	if uid == 0 {
		return filepath.Join(s.dir(), "work")
	}
	return filepath.Join(s.dir(), "work-"+strconv.Itoa(uid))
}

// logPath is where the shard's engine writes.
func (s *shard) logPath() string { return filepath.Join(s.dir(), logs.Engine) }

// forget drops what is known of a shard that is gone. Its logs stay for a
// while, for people; its files, which may hold a key, do not.
func (s *shard) forget() {
	if err := s.a.ledger.forget(s.id); err != nil {
		s.log.Warn("the state cannot be kept", "err", err)
	}
	s.removeFiles()
	_ = os.RemoveAll(s.gateDir())
	s.a.board.drop(s.id)
	s.a.dropped(s)
}

// removeFiles leaves only logs in the shard's folder, and nothing elsewhere.
func (s *shard) removeFiles() {
	if e, ok := s.a.ledger.entry(s.id); ok {
		process.SweepFiles(s.a.userOf(e))
	}
	entries, err := os.ReadDir(s.dir())
	if err != nil {
		return
	}
	for _, e := range entries {
		if !logs.IsEngine(e.Name()) {
			_ = os.RemoveAll(filepath.Join(s.dir(), e.Name()))
		}
	}
}
