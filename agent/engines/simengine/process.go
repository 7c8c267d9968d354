package simengine

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// Main runs the simulated engine as a process: its arguments are flags, and it
// counts interrupts and TERMs as the real engines do. An *ExitError says with
// which code to exit.
//
// Arguments that begin with --as vllm, or with --as vllm@ and a version, make it
// behave as that version of vLLM does; what follows is vLLM's command line.
func Main(args []string) error {
	if len(args) > 1 && args[0] == "--as" {
		switch as, _, _ := strings.Cut(args[1], "@"); {
		case as != asVLLM:
			return fmt.Errorf("simengine: it cannot be %q; --as takes vllm, or vllm@ and a version", args[1])
		case os.Getenv(workerVariable) != "":
			return beWorker()
		}
		return mainVLLM(args[1], args[2:])
	}
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
