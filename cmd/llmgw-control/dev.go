package main

import (
	"context"
	"path/filepath"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw"
)

func devCommand() *cli.Command {
	return &cli.Command{
		Name:  "dev",
		Usage: "run the whole system on this machine: a control plane on SQLite, and an agent beside it",
		Description: "The agent is joined over real TLS, like any other. Engines stop when dev stops.\n" +
			"Everything is kept under --data-dir: control/ and agent/.",
		Flags: append(controlFlags(),
			&cli.StringFlag{Name: "agent", Usage: "`PROGRAM` of the agent; empty: llmgw-agent beside this one, or on the PATH"},
			&cli.StringFlag{Name: "node", Usage: "`NAME` of this machine; empty: the host's name"},
		),
		Action: dev,
	}
}

// dev runs serve with an agent as its child.
func dev(ctx context.Context, cmd *cli.Command) error {
	f, err := settings(cmd)
	if err != nil {
		return err
	}
	program, err := llmgw.FindAgent(cmd.String("agent"))
	if err != nil {
		return err
	}
	child := llmgw.AgentChild{Program: program, Dir: filepath.Join(f.DataDir, "agent"), Node: cmd.String("node")}
	f.DataDir = filepath.Join(f.DataDir, "control")
	for at, address := range map[*string]string{
		&f.Listen.Client.Address: "127.0.0.1:8080", &f.Listen.Admin.Address: "127.0.0.1:7070", &f.Listen.Agents.Address: "127.0.0.1:7443",
	} {
		if *at == "" {
			*at = address
		}
	}
	return child.Beside(ctx, func(ctx context.Context, ready func(*llmgw.ControlPlane, llmgw.Addresses)) error {
		return serve(ctx, cmd, f, ready)
	})
}
