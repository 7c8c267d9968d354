package main

import (
	"bufio"
	"context"
	"fmt"
	"os"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw"
	"llmgw.io/llmgw/adminapi/ctl"
)

// tokenCommand is ctl's "tokens", and what only concerns declared keys.
func tokenCommand() *cli.Command {
	cmd := ctl.TokensCommand()
	cmd.Name = "token"
	cmd.Usage = "make and list tokens of a running server, and hash keys for the configuration file"
	cmd.Commands = append(cmd.Commands, &cli.Command{
		Name:  "hash",
		Usage: "make a client key, or read one from standard input with -, and print what the configuration file declares of it",
		Flags: serverFlags()[:2], ArgsUsage: "[-]",
		Action: hashKey,
	})
	return cmd
}

func hashKey(_ context.Context, cmd *cli.Command) error {
	f, err := settings(cmd)
	if err != nil {
		return err
	}
	pepper, err := llmgw.LoadPepper(f.PepperFile())
	if err != nil {
		return err
	}
	secret := ""
	if cmd.Args().First() == "-" {
		if secret, err = bufio.NewReader(os.Stdin).ReadString('\n'); secret == "" {
			return err
		}
	}
	text, err := llmgw.DeclareKey(pepper, secret)
	fmt.Print(text)
	return err
}
