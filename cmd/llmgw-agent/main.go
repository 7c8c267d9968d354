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
	"llmgw.io/llmgw/cmd/llmgw-agent/gpucmd"
	"llmgw.io/llmgw/cmd/llmgw-agent/simcmd"
)

// version is set by the linker.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	app := &cli.Command{
		Name:     "llmgw-agent",
		Usage:    "run inference engines on this machine for a control plane",
		Version:  version,
		Commands: append(gpucmd.Commands(), runCommand(), joinCommand(), probeCommand(), simcmd.Command(stop), gatecmd.Command(), versionCommand()),
	}
	err := app.Run(ctx, os.Args)
	stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "llmgw-agent:", err)
		os.Exit(simcmd.ExitCode(err))
	}
}
