package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw"
	"llmgw.io/llmgw/adminapi/auth"
)

func serveCommand() *cli.Command {
	return &cli.Command{
		Name:  "serve",
		Usage: "run a control plane with its router",
		Flags: controlFlags(),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			f, err := settings(cmd)
			if err != nil {
				return err
			}
			return serve(ctx, cmd, f, nil)
		},
	}
}

// serve runs a control plane until ctx ends; ready, when it is not nil, is
// called once it listens.
func serve(ctx context.Context, cmd *cli.Command, f llmgw.File, ready func(*llmgw.ControlPlane, llmgw.Addresses)) (err error) {
	o, err := open(ctx, f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.store.Close()) }()
	if cmd.Bool("insecure-admin") {
		address := f.Listen.Admin.Address
		if address == "" {
			address = "127.0.0.1:7070"
		}
		if o.Auth, err = auth.NewInsecure(address); err != nil {
			return err
		}
	}
	c, err := llmgw.New(ctx, o.Config)
	if err != nil {
		return err
	}
	if err := llmgw.EnsureAdminToken(ctx, o.store, o.Pepper, filepath.Join(f.DataDir, "admin.token")); err != nil {
		return err
	}
	go reloadOnHangup(ctx, cmd, o.Logger, c.Reload)
	return c.ListenAndServe(ctx, func(a llmgw.Addresses) {
		if ready != nil {
			ready(c, a)
		}
	})
}
