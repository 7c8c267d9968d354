package gatecmd

import (
	"context"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw/agent/gate"
)

// Command is the command gate.
func Command() *cli.Command {
	return &cli.Command{
		Name: "gate", Usage: "stand in front of an engine; started by agents", ArgsUsage: "FOLDER", Hidden: true,
		Action: func(ctx context.Context, cmd *cli.Command) error { return gate.Main(ctx, cmd.Args().Slice()) },
	}
}
