package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw/agent/discovery"
	"llmgw.io/llmgw/inventory"
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
			prober, _, err := f.machine(f.Control, slog.New(slog.DiscardHandler))
			if err != nil {
				return err
			}
			facts, sample := prober.Facts(ctx), prober.Sample(ctx)
			if !cmd.Bool("json") {
				return discovery.Print(os.Stdout, facts, sample)
			}
			e := json.NewEncoder(os.Stdout)
			e.SetIndent("", "  ")
			return e.Encode(struct {
				Facts  inventory.Facts  `json:"facts"`
				Sample inventory.Sample `json:"sample"`
			}{facts, sample})
		},
	}
}
