package gpu

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// WatchConfig says where messages of the driver come from.
type WatchConfig struct {
	// Kernel is the kernel's log. Empty: /dev/kmsg.
	Kernel string
	// Command is the program and its arguments that call [PrintEvents]. It runs
	// only where the log cannot be read: it holds the driver open, and a card that
	// somebody has open can be neither reset nor partitioned. Empty: there is none.
	Command []string
	// Logger is told when a source fails. Nil: nobody is.
	Logger *slog.Logger
}

// Watch hears the driver's messages about cards, and keeps them until they are
// asked for.
type Watch struct {
	cfg WatchConfig

	mu    sync.Mutex
	heard []Event
}

// mostHeard bounds what nobody asked for.
const mostHeard = 1000

// NewWatch makes a Watch. [Watch.Run] makes it hear.
func NewWatch(cfg WatchConfig) *Watch {
	if cfg.Kernel == "" {
		cfg.Kernel = "/dev/kmsg"
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Watch{cfg: cfg}
}

// Heard gives what was heard since the last call.
func (w *Watch) Heard() []Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.heard
	w.heard = nil
	return out
}

func (w *Watch) tell(e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.heard) >= mostHeard {
		w.heard = slices.Delete(w.heard, 0, 1)
	}
	w.heard = append(w.heard, e)
}

const (
	// firstPause is between two tries of a source; it doubles up to lastPause, and
	// begins anew after one that worked for longer than that.
	firstPause = 5 * time.Second
	lastPause  = 10 * time.Minute
)

// Run hears until the context ends, and returns nil then. A source that fails is
// begun with again.
func (w *Watch) Run(ctx context.Context) error {
	t := try{pause: firstPause}
	for ctx.Err() == nil {
		w.once(ctx, &t)
	}
	return nil
}

// try is what is remembered of sources that failed.
type try struct {
	pause time.Duration
	told  string
}

// once hears as long as that goes, and waits before the next try.
func (w *Watch) once(ctx context.Context, t *try) {
	began := time.Now()
	err := w.listen(ctx)
	if ctx.Err() != nil {
		return
	}
	if time.Since(began) > lastPause {
		*t = try{pause: firstPause}
	}
	if text := err.Error(); text != t.told {
		t.told = text
		w.cfg.Logger.Info("messages of the GPU driver cannot be heard", "err", err)
	}
	wait := time.NewTimer(t.pause)
	defer wait.Stop()
	select {
	case <-ctx.Done():
	case <-wait.C:
	}
	t.pause = min(2*t.pause, lastPause)
}

// listen hears from the log, or from a child where that cannot be read.
func (w *Watch) listen(ctx context.Context) error {
	err := readKernel(ctx, w.cfg.Kernel, w.tell)
	if err == nil || ctx.Err() != nil || len(w.cfg.Command) == 0 {
		return err
	}
	return errors.Join(err, w.child(ctx))
}

// child runs the program that hears, until it ends. It ends by itself when its
// input does.
func (w *Watch) child(ctx context.Context) error {
	cmd := command(w.cfg.Command)
	said := &bounded{most: mostSaid}
	cmd.Stderr = said
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		readEvents(out, time.Now, w.tell)
	}()
	select {
	case <-read:
	case <-ctx.Done():
		_ = in.Close()
		_ = cmd.Process.Kill()
		// One that hangs in the driver is left to end when it can.
		go func() { _ = cmd.Wait() }()
		return ctx.Err()
	}
	_ = in.Close()
	_ = cmd.Wait()
	return endError(cmd.ProcessState.ExitCode(), said.String())
}
