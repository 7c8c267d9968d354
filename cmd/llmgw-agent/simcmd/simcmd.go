package simcmd

import (
	"context"
	"errors"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw/agent/engines/simengine"
)

// Command is the command. It gives the process's signals to the simulated engine.
func Command(release func()) *cli.Command {
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

// ExitCode is what the process exits with: the simulated engine's own code where
// it says one.
func ExitCode(err error) int {
	if exit, ok := errors.AsType[*simengine.ExitError](err); ok {
		return exit.Code
	}
	return 1
}
