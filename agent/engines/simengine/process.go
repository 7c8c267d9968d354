package simengine

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// Main runs the simulated engine as a process: its arguments are flags, and it
// counts interrupts and TERMs as the real engines do. An *ExitError says with
// which code to exit.
func Main(args []string) error {
	stops := make(chan os.Signal, 4)
	signal.Notify(stops, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(stops)
	cfg, err := ParseFlags(args)
	if err != nil {
		return err
	}
	cfg.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	cfg.OnExit = os.Exit
	e, err := New(cfg)
	if err != nil {
		return err
	}
	go func() {
		for range stops {
			e.Stop()
		}
	}()
	return e.Run(context.Background())
}
