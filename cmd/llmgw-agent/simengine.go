package main

import (
	"context"
	"errors"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw/agent/engines/simengine"
)

// simEngineCommand gives the process's signals to the simulated engine.
func simEngineCommand(release func()) *cli.Command {
	return &cli.Command{
		Name:            "sim-engine",
		Usage:           "run the simulated engine; -h lists its flags",
		SkipFlagParsing: true,
		Action: func(_ context.Context, cmd *cli.Command) error {
			release()
			return simengine.Main(cmd.Args().Slice())
		},
	}
}

// exitCode is what the process exits with: the simulated engine's own code where
// it says one.
func exitCode(err error) int {
	if exit, ok := errors.AsType[*simengine.ExitError](err); ok {
		return exit.Code
	}
	return 1
}
