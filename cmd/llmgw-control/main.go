package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw/adminapi/ctl"
	"llmgw.io/llmgw/cmd/llmgw-control/simcmd"
)

// version is set by the linker.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	app := &cli.Command{
		Name:    "llmgw-control",
		Usage:   "serve large language models on machines that you own",
		Version: version,
		Commands: []*cli.Command{
			serveCommand(), devCommand(), routerCommand(), migrateCommand(), tokenCommand(), ctl.Command(),
			simcmd.Command(), openapiCommand(), versionCommand(),
		},
	}
	err := app.Run(ctx, os.Args)
	stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "llmgw-control:", err)
		os.Exit(ctl.ExitCode(err))
	}
}
