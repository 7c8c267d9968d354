package gpucmd

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw/agent/discovery"
	"llmgw.io/llmgw/agent/discovery/gpu"
	"llmgw.io/llmgw/agent/process"
)

// The hidden commands, and the flag that names the driver's library.
const (
	snapshot = "nvml-snapshot"
	events   = "nvml-events"
	library  = "library"
)

// longest is how long a snapshot may take before its process ends itself, also
// when the agent that asked for it is gone.
const longest = 30 * time.Second

// Commands are the hidden commands. People have no use for them.
func Commands() []*cli.Command {
	flags := []cli.Flag{&cli.StringFlag{Name: library, Usage: "`PATH` of the driver's library"}}
	return []*cli.Command{{
		Name: snapshot, Hidden: true, Flags: flags, Usage: "read the GPU driver once, as JSON",
		Action: func(_ context.Context, cmd *cli.Command) error {
			// A call that hangs in the driver is no hindrance to this.
			time.AfterFunc(longest, func() {
				fmt.Fprintln(os.Stderr, "the driver does not answer")
				os.Exit(124)
			})
			return gpu.PrintSnapshot(os.Stdout, cmd.String(library))
		},
	}, {
		Name: events, Hidden: true, Flags: flags, Usage: "print messages of the GPU driver as JSON lines, until the input ends",
		Action: func(ctx context.Context, cmd *cli.Command) error {
			return gpu.PrintEvents(ctx, os.Stdin, os.Stdout, cmd.String(library))
		},
	}}
}

// Wire fills in what reads GPUs by the commands of this program. lib is the path
// of the driver's library; empty: where the loader finds it. The Watch hears
// nothing until it is run.
func Wire(cfg *discovery.Config, self, lib string, logger *slog.Logger) (*gpu.Watch, error) {
	command := func(name string) []string {
		argv := []string{self, name}
		if lib != "" {
			argv = append(argv, "--"+library, lib)
		}
		return argv
	}
	child, err := gpu.NewChild(gpu.ChildConfig{Command: command(snapshot)})
	if err != nil {
		return nil, err
	}
	watch := gpu.NewWatch(gpu.WatchConfig{Command: command(events), Logger: logger})
	cfg.GPUs, cfg.GPUEvents, cfg.Foreign = child, watch.Heard, process.Foreign
	return watch, nil
}
