package gatecmd

import (
	"context"
	"os"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw/agent/gate"
)

// Program is this program as a gate, for agent.Config.Gate. Nil: its own path cannot
// be found, and the agent says that it has no gates.
func Program() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, "gate"}
}

// Command is the command gate.
func Command() *cli.Command {
	return &cli.Command{
		Name: "gate", Usage: "stand in front of an engine; started by agents", ArgsUsage: "FOLDER", Hidden: true,
		Action: func(ctx context.Context, cmd *cli.Command) error { return gate.Main(ctx, cmd.Args().Slice()) },
	}
}
