package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw/agent/discovery"
)

func probeCommand() *cli.Command {
	return &cli.Command{
		Name:  "probe",
		Usage: "print what this machine is, as the agent would report it",
		Flags: append(commonFlags(), &cli.BoolFlag{Name: "json", Usage: "as JSON"}),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			f, err := load(cmd)
			if err != nil {
				return err
			}
			prober, _, _, err := f.machine(f.Control, slog.New(slog.DiscardHandler))
			if err != nil {
				return err
			}
			show := discovery.Print
			if cmd.Bool("json") {
				show = discovery.PrintJSON
			}
			return show(os.Stdout, prober.Facts(ctx), prober.Sample(ctx))
		},
	}
}
