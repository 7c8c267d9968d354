package probecmd

import (
	"context"
	"time"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw/agent/discovery/page"
	"llmgw.io/llmgw/inventory"
)

// Roots are where the kernel's and the system's files are. An empty one: as the
// configuration file says, or this machine's own.
type Roots struct{ Sys, Proc, Dev, Etc string }

// Prober finds what a machine is and measures.
type Prober interface {
	Facts(ctx context.Context) inventory.Facts
	Sample(ctx context.Context) inventory.Sample
}

// apart is how long two samples are apart at least: how busy processors are, and
// their power, are told by two.
const apart = 300 * time.Millisecond

// Command is probe. flags are those that all commands have; machine makes a Prober
// from them, the configuration file and the roots.
func Command(flags []cli.Flag, machine func(*cli.Command, Roots) (Prober, error)) *cli.Command {
	return &cli.Command{
		Name:  "probe",
		Usage: "print what this machine is, as the agent would report it",
		Description: "The machine need not have joined, and nothing is changed on it. Without root some facts are not to be read;\n" +
			"the page says which. In a container, name where the host's files are: --sys /host/sys --proc /host/proc --etc /host/etc.",
		Flags: append(flags,
			&cli.BoolFlag{Name: "json", Usage: "as JSON, with all of it"},
			&cli.StringFlag{Name: "sys", Usage: "`FOLDER` in place of /sys"},
			&cli.StringFlag{Name: "proc", Usage: "`FOLDER` in place of /proc"},
			&cli.StringFlag{Name: "dev", Usage: "`FOLDER` in place of /dev"},
			&cli.StringFlag{Name: "etc", Usage: "`FOLDER` in place of /etc"},
		),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			p, err := machine(cmd, Roots{Sys: cmd.String("sys"), Proc: cmd.String("proc"), Dev: cmd.String("dev"), Etc: cmd.String("etc")})
			if err != nil {
				return err
			}
			f, s, err := look(ctx, p)
			if err != nil {
				return err
			}
			write := page.Text
			if cmd.Bool("json") {
				write = page.JSON
			}
			return write(cmd.Root().Writer, f, s)
		},
	}
}

// look finds the facts between two samples, and gives the second.
func look(ctx context.Context, p Prober) (inventory.Facts, inventory.Sample, error) {
	wait := time.NewTimer(apart)
	defer wait.Stop()
	p.Sample(ctx)
	f := p.Facts(ctx)
	select {
	case <-ctx.Done():
		return f, inventory.Sample{}, ctx.Err()
	case <-wait.C:
	}
	return f, p.Sample(ctx), nil
}
