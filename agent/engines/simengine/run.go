package simengine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Why requests end before their time.
var (
	errAborted = errors.New("simengine: the engine aborted the request")
	errFrozen  = errors.New("simengine: the engine stopped and keeps the request open")
)

// ExitError is how Run says that the engine ended with a code, as a process would.
type ExitError struct {
	// Code is the exit code; it can be 0, since engines die with 0 as well.
	Code int
	// Reason is the last line of its log.
	Reason string
}

// Error gives the reason and the code.
func (e *ExitError) Error() string {
	return fmt.Sprintf("simengine: %s (exit code %d)", e.Reason, e.Code)
}

// lastBytes is how long an engine that ends in order has for what it has given.
const lastBytes = time.Second

// Run serves until the engine has ended. It closes idle connections after 5 seconds, as engines do. The end of ctx counts as the first order to stop; further ones are calls of
// Stop. It returns nil when the engine ended in order, else an *ExitError, or why it could not listen.
func (e *Engine) Run(ctx context.Context) error {
	if t := e.Temper(); t.StartExit != 0 {
		return e.refuseToStart(ctx, t)
	}
	if e.Temper().ListenLate && !pause(ctx, time.Until(e.readyAt)) {
		return nil
	}
	l := e.cfg.Listener
	if l == nil {
		var err error
		if l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", e.cfg.Addr); err != nil {
			return fmt.Errorf("simengine: listen: %w", err)
		}
	}
	e.log.Info("simulated engine listening", "address", l.Addr().String(), "model", e.cfg.Models[0])
	srv := &http.Server{Handler: e, ReadHeaderTimeout: time.Minute, IdleTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	e.mu.Lock()
	e.settle = func() {
		last, cancel := context.WithTimeout(context.Background(), lastBytes)
		defer cancel()
		_ = srv.Shutdown(last)
	}
	e.mu.Unlock()
	err := e.serve(ctx, served)
	if cerr := srv.Close(); err == nil && cerr != nil && !errors.Is(cerr, net.ErrClosed) {
		err = fmt.Errorf("simengine: close: %w", cerr)
	}
	return err
}

func (e *Engine) serve(ctx context.Context, served <-chan error) error {
	done := ctx.Done()
	for {
		select {
		case <-done:
			done = nil
			e.Stop()
		case err := <-served:
			if errors.Is(err, http.ErrServerClosed) { // it settles before it ends
				served = nil
				continue
			}
			return fmt.Errorf("simengine: serve: %w", err)
		case <-e.exited:
			return e.outcome()
		}
	}
}

func (e *Engine) refuseToStart(ctx context.Context, t Temper) error {
	reason := t.StartError
	if reason == "" {
		reason = "Engine core initialization failed. See root cause above."
	}
	e.log.Error("the engine refuses to start", "reason", reason)
	if !pause(ctx, time.Until(e.readyAt)) {
		return nil
	}
	e.exit(t.StartExit)
	return &ExitError{Code: t.StartExit, Reason: reason}
}

// Stop tells the engine to stop, as SIGTERM would; the temper says what happens to requests in flight. A second call
// ends it at once with code 1. It does not wait: Run does, and Exited tells.
func (e *Engine) Stop() {
	e.mu.Lock()
	e.stops++
	again := e.stops > 1
	busy := len(e.flights)
	t := e.Temper()
	cause := errAborted
	if t.Shutdown == ShutdownHang {
		cause = errFrozen
	}
	if !again && t.Shutdown != ShutdownDrain {
		for f := range e.flights {
			f.cancel(cause)
		}
	}
	e.mu.Unlock()
	switch {
	case again:
		e.log.Warn("second interrupt, terminating immediately")
		e.exit(1)
	case busy == 0 || t.Shutdown == ShutdownAbort:
		e.exit(0)
	default:
		go e.awaitIdle(t)
	}
}

// awaitIdle ends the engine when its last request left, or when a drain has lasted long enough.
func (e *Engine) awaitIdle(t Temper) {
	var limit <-chan time.Time
	if t.Shutdown == ShutdownDrain && t.ShutdownTimeout > 0 {
		timer := time.NewTimer(time.Duration(t.ShutdownTimeout))
		defer timer.Stop()
		limit = timer.C
	}
	for {
		select {
		case <-e.idle:
			if e.inFlight() > 0 { // a token from before the order to stop
				continue
			}
			e.settled() // the last answer counts as given before its end is on the wire
		case <-limit:
		case <-e.exited:
			return
		}
		e.exit(0)
		return
	}
}

func (e *Engine) settled() {
	e.mu.Lock()
	settle := e.settle
	e.mu.Unlock()
	if settle != nil {
		settle()
	}
}

func (e *Engine) inFlight() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.flights)
}

// exit ends the engine: what is in flight is cut, and Run returns.
func (e *Engine) exit(code int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended {
		return
	}
	e.ended, e.code = true, code
	close(e.exited)
	for f := range e.flights {
		f.cancel(errAborted)
	}
	if e.cfg.OnExit != nil {
		go e.cfg.OnExit(code)
	}
}

// Exited is closed when the engine has ended.
func (e *Engine) Exited() <-chan struct{} { return e.exited }

// outcome is what Run returns for the way in which the engine ended.
func (e *Engine) outcome() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.stops == 0:
		return &ExitError{Code: e.code, Reason: "the engine died"}
	case e.code != 0:
		return &ExitError{Code: e.code, Reason: "received second interrupt, terminating immediately"}
	}
	return nil
}

// pause waits, and is false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
