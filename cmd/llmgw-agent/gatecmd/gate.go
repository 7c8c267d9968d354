package gatecmd

import (
	"context"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw/agent/gate"
)

// smallProgram is the gate as a program of its own, beside this one.
const smallProgram = "llmgw-gate"

// Program is a gate's program, for agent.Config.Gate: the small one that lies
// beside this program, or this program itself where there is none. Nil: its own
// path cannot be found, and the agent says that it has no gates.
func Program() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return programBeside(self)
}

func programBeside(self string) []string {
	small := filepath.Join(filepath.Dir(self), smallProgram)
	if info, err := os.Stat(small); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
		return []string{small}
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
