package joincmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw/agent/uplink"
)

// Command is join. flags are those that all commands have; load says, from them
// and the configuration file, where the control plane and the data folder are.
func Command(flags []cli.Flag, load func(*cli.Command) (control []string, dataDir string, err error)) *cli.Command {
	return &cli.Command{
		Name:  "join",
		Usage: "make this machine a node, with a one-time token",
		Description: "The token is read from LLMGW_JOIN_TOKEN, from --token-file, or from standard input with --token-file -.\n" +
			"It is no argument, since every user of the machine could read it there.",
		Flags: append(flags,
			&cli.StringFlag{Name: "token-file", Usage: "`FILE` that holds the join token; - is standard input"},
			&cli.StringFlag{Name: "name", Usage: "`NAME` of this node; empty: the host's name"},
			&cli.BoolFlag{Name: "again", Usage: "replace the identity that is there"},
		),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			control, dataDir, err := load(cmd)
			if err != nil {
				return err
			}
			return join(ctx, cmd, control, dataDir)
		},
	}
}

func join(ctx context.Context, cmd *cli.Command, control []string, dataDir string) error {
	token, err := joinToken(cmd.String("token-file"))
	if err != nil {
		return err
	}
	name := cmd.String("name")
	if name == "" {
		if name, err = os.Hostname(); err != nil {
			return fmt.Errorf("find the host's name: %w; give one with --name", err)
		}
	}
	err = uplink.Join(ctx, uplink.JoinConfig{Control: control, Token: token, Node: name, DataDir: dataDir, Again: cmd.Bool("again")})
	if err != nil {
		return err
	}
	fmt.Printf("This machine is node %s now. Start the agent: llmgw-agent run --data-dir %s\n", name, dataDir)
	return nil
}

func joinToken(path string) (string, error) {
	switch path {
	case "":
		if t := strings.TrimSpace(os.Getenv("LLMGW_JOIN_TOKEN")); t != "" {
			return t, nil
		}
		return "", errors.New("there is no join token; set LLMGW_JOIN_TOKEN or give --token-file; \"llmgw-control ctl tokens join create\" makes one")
	case "-":
		line, err := bufio.NewReader(os.Stdin).ReadString('\n')
		if line = strings.TrimSpace(line); line != "" {
			return line, nil
		}
		return "", errors.Join(errors.New("there is no join token on standard input"), err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the join token: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}
