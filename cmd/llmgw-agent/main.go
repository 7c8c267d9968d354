package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/urfave/cli/v3"
)

// version is set by the linker.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	app := &cli.Command{
		Name:     "llmgw-agent",
		Usage:    "run inference engines on this machine for a control plane",
		Version:  version,
		Commands: []*cli.Command{runCommand(), joinCommand(), probeCommand(), simEngineCommand(stop), versionCommand()},
	}
	err := app.Run(ctx, os.Args)
	stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "llmgw-agent:", err)
		os.Exit(exitCode(err))
	}
}

func versionCommand() *cli.Command {
	return &cli.Command{Name: "version", Usage: "print the version", Action: func(context.Context, *cli.Command) error {
		fmt.Printf("llmgw-agent %s (%s %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return nil
	}}
}
