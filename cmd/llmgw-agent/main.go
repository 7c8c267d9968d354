package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw/cmd/llmgw-agent/gatecmd"
)

// version is set by the linker.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	app := &cli.Command{
		Name:     "llmgw-agent",
		Usage:    "run inference engines on this machine for a control plane",
		Version:  version,
		Commands: []*cli.Command{runCommand(), joinCommand(), probeCommand(), simEngineCommand(stop), gatecmd.Command(), versionCommand()},
	}
	err := app.Run(ctx, os.Args)
	stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "llmgw-agent:", err)
		os.Exit(exitCode(err))
	}
}
