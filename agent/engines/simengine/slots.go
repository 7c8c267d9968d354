package simengine

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// errQueueFull means that no more requests may wait.
var errQueueFull = errors.New("simengine: the queue is full")

// slots lets a number of requests run at once and others wait in line.
type slots struct {
	mu      sync.Mutex
	size    int
	room    int // how many may wait
	running int
	line    []chan struct{}
}

func newSlots(size, room int) *slots { return &slots{size: size, room: room} }

// take waits for a slot, first come, first served. The caller gives it back with free.
func (s *slots) take(ctx context.Context) error {
	s.mu.Lock()
	if s.running < s.size && len(s.line) == 0 {
		s.running++
		s.mu.Unlock()
		return nil
	}
	if len(s.line) >= s.room {
		s.mu.Unlock()
		return errQueueFull
	}
	turn := make(chan struct{})
	s.line = append(s.line, turn)
	s.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		s.leave(turn)
		return context.Cause(ctx)
	}
}

// leave takes a waiter out of the line, or gives its slot back if its turn came at the same moment.
func (s *slots) leave(turn chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.line, turn); i >= 0 {
		s.line = slices.Delete(s.line, i, i+1)
		return
	}
	s.running--
	s.next()
}

// free gives a slot back.
func (s *slots) free() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	s.next()
}

// next lets those in front of the line run while there are slots.
func (s *slots) next() {
	for s.running < s.size && len(s.line) > 0 {
		close(s.line[0])
		s.line = slices.Delete(s.line, 0, 1)
		s.running++
	}
}

func (s *slots) resize(size, room int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size, s.room = size, room
	s.next()
}

func (s *slots) counts() (running, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running, len(s.line)
}
