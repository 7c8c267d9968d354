package safedial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

var errStalled = errors.New("the body stalled")

// body counts and times what is read of an answer. Like any body it is read by
// one goroutine at a time.
type body struct {
	rc     io.ReadCloser
	left   int64 // negative: no limit
	stall  time.Duration
	caller context.Context //nolint:containedctx // a body is part of one call, and Read has no other way to it
	ctx    context.Context //nolint:containedctx // as above
	cancel context.CancelCauseFunc
	end    func()
	policy *Policy
	host   string
}

// Read reads up to the limit. One byte more than it allows is asked for, since a
// body of just that size is fine.
func (b *body) Read(buf []byte) (int, error) {
	if b.left >= 0 && int64(len(buf)) > b.left+1 {
		buf = buf[:b.left+1]
	}
	timer := time.AfterFunc(b.stall, func() { b.cancel(errStalled) })
	n, err := b.rc.Read(buf)
	timer.Stop()
	if b.left >= 0 && int64(n) > b.left {
		n = int(b.left)
		b.left = 0
		return n, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, b.policy.cfg.MaxBody)
	}
	if b.left >= 0 {
		b.left -= int64(n)
	}
	if err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return n, err
	}
	return n, b.broken(err)
}

// broken hides whose addresses and which part failed, as all other errors do.
func (b *body) broken(err error) error {
	if ctxErr := b.caller.Err(); ctxErr != nil {
		return ctxErr
	}
	b.policy.log.Info("safedial: an answer broke off", "policy", b.policy.cfg.Name, "address", b.host,
		"err", errors.Join(err, context.Cause(b.ctx)))
	return fmt.Errorf("safedial: the answer broke off: %w", io.ErrUnexpectedEOF)
}

// Close ends the request's timers with it.
func (b *body) Close() error {
	err := b.rc.Close()
	b.end()
	return err
}
