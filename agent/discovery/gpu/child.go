package gpu

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrSilent says that the driver does not answer.
var ErrSilent = errors.New("gpu: the driver does not answer")

const (
	// firstRetry is how long nobody asks again after a failure; it doubles up to
	// lastRetry.
	firstRetry = 30 * time.Second
	lastRetry  = 5 * time.Minute
	// dying is how long a child that was killed may take to end.
	dying = 2 * time.Second
)

// ChildConfig says how the driver is read.
type ChildConfig struct {
	// Command is the program and its arguments that call [PrintSnapshot].
	Command []string
	// Limit is how long the driver may take. Zero: 20 s.
	Limit time.Duration
}

// Child is a [Source] that reads the driver in a process of its own for each
// snapshot. Its methods may be called at once; they take turns.
type Child struct {
	limit time.Duration
	spawn func() (*running, error)
	// turn has room for one.
	turn chan struct{}

	// What follows is changed by whose turn it is.
	// stuck is a child that was killed and did not end.
	stuck *running
	// failed is the last failure, again when somebody may ask again after the wait.
	failed error
	again  time.Time
	wait   time.Duration
}

// running is one child.
type running struct {
	kill func()
	// done is closed when it has ended; what follows is set then.
	done   chan struct{}
	out    []byte
	errOut string
	code   int
}

func (r *running) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// NewChild makes a Child.
func NewChild(cfg ChildConfig) (*Child, error) {
	if len(cfg.Command) == 0 {
		return nil, errors.New("gpu: ChildConfig.Command is empty; name the program that reads the driver")
	}
	if cfg.Limit < 0 {
		return nil, errors.New("gpu: ChildConfig.Limit may not be negative")
	}
	if cfg.Limit == 0 {
		cfg.Limit = 20 * time.Second
	}
	return &Child{limit: cfg.Limit, spawn: func() (*running, error) { return start(cfg.Command) }, turn: make(chan struct{}, 1)}, nil
}

// Snapshot reads the driver. After a failure it answers the same for a while
// without asking again, and never starts a second child beside one that hangs.
func (c *Child) Snapshot(ctx context.Context) (Snapshot, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return Snapshot{}, ctx.Err()
	}
	if c.stuck != nil && !c.stuck.ended() {
		return Snapshot{}, fmt.Errorf("%w, and the process that asked it cannot be ended; restart the machine", ErrSilent)
	}
	c.stuck = nil
	if time.Now().Before(c.again) {
		return Snapshot{}, c.failed
	}
	s, err := c.read(ctx)
	switch {
	case err == nil:
		c.failed, c.wait, c.again = nil, 0, time.Time{}
	case ctx.Err() != nil:
		// Who asked went away: the driver is not to blame.
	default:
		c.wait = min(max(2*c.wait, firstRetry), lastRetry)
		c.failed, c.again = err, time.Now().Add(c.wait)
	}
	return s, err
}

// read starts a child and waits for its answer.
func (c *Child) read(ctx context.Context) (Snapshot, error) {
	r, err := c.spawn()
	if err != nil {
		return Snapshot{}, fmt.Errorf("gpu: start reading the driver: %w", err)
	}
	limit := time.NewTimer(c.limit)
	defer limit.Stop()
	select {
	case <-r.done:
		if r.code != 0 {
			return Snapshot{}, endError(r.code, r.errOut)
		}
		return decode(r.out)
	case <-limit.C:
		err = fmt.Errorf("%w within %s", ErrSilent, c.limit)
	case <-ctx.Done():
		err = ctx.Err()
	}
	r.kill()
	late := time.NewTimer(dying)
	defer late.Stop()
	select {
	case <-r.done:
	case <-late.C:
		c.stuck = r
	}
	return Snapshot{}, err
}
