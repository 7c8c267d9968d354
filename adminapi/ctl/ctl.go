package ctl

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/urfave/cli/v3"
)

// Operations is the key of a command's metadata that lists the operations of
// the API it uses, as []string.
const Operations = "operations"

// outside is what the commands take from the world beside their flags.
type outside struct {
	// http sends requests. Nil: the client's own.
	http *http.Client
	// every is how often wait looks. Zero: once a second.
	every time.Duration
}

// Command is the tree of commands, called ctl.
func Command() *cli.Command { return command(outside{}) }

func command(o outside) *cli.Command {
	c := &cli.Command{
		Name:  "ctl",
		Usage: "Ask a running control plane and give it orders",
		Description: "The address is --server, LLMGW_SERVER or http://127.0.0.1:7070. The admin token is --token-file, LLMGW_TOKEN, or the file\n" +
			"admin.token of the data folder when the control plane is on this machine.\n" +
			"Exit codes: 0 done; 1 refused, failed, or a wait that ended badly; 2 the command line is wrong.",
		Flags: globalFlags(),
		Commands: []*cli.Command{
			o.summary(), o.models(), o.explain(), o.nodes(), o.facility(), o.holds(), o.fabrics(), o.nvlink(), o.fabricTest(), o.plan(), o.brake(), o.replicas(), o.restart(), o.wait(), o.usage(), o.requests(), o.weights(), o.audit(), o.keys(), o.tokens(), o.openapi(),
		},
	}
	finish(c)
	return c
}

// TokensCommand is the group tokens by itself, with the flags of ctl, for
// programs that want it closer at hand.
func TokensCommand() *cli.Command {
	c := outside{}.tokens()
	c.Flags = globalFlags()
	finish(c)
	return c
}

func globalFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "server", Usage: "where the control plane's admin listener is", Value: "http://127.0.0.1:7070", Sources: cli.EnvVars("LLMGW_SERVER")},
		&cli.StringFlag{Name: "token", Usage: "an admin token; a file or the variable keeps it out of the list of processes", Sources: cli.EnvVars("LLMGW_TOKEN")},
		&cli.StringFlag{Name: "token-file", Usage: "a file that holds an admin token", Sources: cli.EnvVars("LLMGW_TOKEN_FILE")},
		&cli.StringFlag{Name: "data-dir", Usage: "the control plane's data folder, where its own token is", Sources: cli.EnvVars("LLMGW_DATA_DIR")},
		&cli.StringFlag{Name: "actor", Usage: "who acts, for the audit log; a claim", Sources: cli.EnvVars("LLMGW_ACTOR", "USER")},
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "table, json or yaml", Value: "table"},
	}
}

// finish makes every command complain in one way, and groups say which
// commands they have.
func finish(c *cli.Command) {
	c.OnUsageError = func(_ context.Context, c *cli.Command, err error, _ bool) error {
		return usagef("%s: %s; see %s --help", c.FullName(), err, c.FullName())
	}
	if c.Action == nil {
		c.Action = func(_ context.Context, c *cli.Command) error {
			if c.Args().Present() {
				return usagef("%s has no command %q; see %s --help", c.FullName(), c.Args().First(), c.FullName())
			}
			return cli.ShowSubcommandHelp(c)
		}
	}
	for _, sub := range c.Commands {
		finish(sub)
	}
}

// group is a command that only holds others.
func group(name, usage string, commands ...*cli.Command) *cli.Command {
	return &cli.Command{Name: name, Usage: usage, Commands: commands}
}

// leaf is a command that does something: args are the names of what it must be
// given, ops the operations of the API it uses.
type leaf struct {
	name, usage string
	args        []string
	// more lets the last argument be given several times, none all be left out.
	more  bool
	none  bool
	flags []cli.Flag
	ops   []string
	do    func(ctx context.Context, s *session) error
}

func (o outside) leaf(l leaf) *cli.Command {
	text := ""
	for _, a := range l.args {
		text += a + " "
	}
	if l.more {
		text += "..."
	}
	return &cli.Command{
		Name: l.name, Usage: l.usage, ArgsUsage: text, Flags: l.flags, Metadata: map[string]any{Operations: l.ops},
		Action: func(ctx context.Context, c *cli.Command) error {
			if n := c.Args().Len(); n < len(l.args) && (n > 0 || !l.none) || n > len(l.args) && !l.more {
				return usagef("%s takes %s, and %d were given; see %s --help", c.FullName(), counted(l.args), c.Args().Len(), c.FullName())
			}
			s, err := o.open(c)
			if err != nil {
				return err
			}
			if err := l.do(ctx, s); err != nil {
				return s.explain(ctx, err)
			}
			return nil
		},
	}
}

// counted says how many arguments there must be.
func counted(args []string) string {
	switch len(args) {
	case 0:
		return "no argument"
	case 1:
		return "one argument (" + args[0] + ")"
	}
	return fmt.Sprintf("%d arguments (%s)", len(args), args)
}
