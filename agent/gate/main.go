package gate

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
)

// Main is the gate's process: it reads the folder that is its one argument, and
// serves until ctx ends. It is small, as there is one for each replica of a node.
func Main(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("gate: give the gate's folder, which an agent has written; gates are started by agents")
	}
	debug.SetGCPercent(25) // what it keeps is little, and there is one of it for each replica
	runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), 4))
	cfg, err := readConfig(args[0])
	if err != nil {
		return err
	}
	cfg.Logger = slog.New(slog.NewJSONHandler(os.Stdout, nil))
	g, err := New(cfg)
	if err != nil {
		return err
	}
	return g.Run(ctx)
}
