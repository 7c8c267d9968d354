package main

import (
	"context"
	"errors"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw"
)

func routerCommand() *cli.Command {
	return &cli.Command{
		Name:  "router",
		Usage: "serve requests alone: declared models that others run, for declared keys",
		Flags: serverFlags(),
		Action: func(ctx context.Context, cmd *cli.Command) (err error) {
			f, err := settings(cmd)
			if err != nil {
				return err
			}
			o, err := open(ctx, f)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, o.store.Close()) }()
			r, err := llmgw.NewRequestRouter(ctx, o.Config)
			if err != nil {
				return err
			}
			go reloadOnHangup(ctx, cmd, o.Logger, r.Reload)
			return r.ListenAndServe(ctx, nil)
		},
	}
}
