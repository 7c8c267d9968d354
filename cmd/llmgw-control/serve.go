package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw"
	"llmgw.io/llmgw/internal/heap"
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
	cfg, closeAll, err := open(ctx, f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	cfg.InsecureAdmin = cmd.Bool("insecure-admin")
	c, err := llmgw.New(ctx, cfg)
	if err != nil {
		return err
	}
	if err := llmgw.EnsureAdminToken(ctx, cfg.Store, cfg.Pepper, filepath.Join(f.DataDir, "admin.token")); err != nil {
		return err
	}
	go func() { _ = heap.Run(ctx) }() // a cluster of thousands of nodes is much that hardly changes
	go llmgw.ReloadOnHangup(ctx, cfg.Logger, func() (llmgw.File, error) { return settings(cmd) }, c.Reload)
	if ready == nil {
		return c.ListenAndServe(ctx, nil)
	}
	return c.ListenAndServe(ctx, func(a llmgw.Addresses) { ready(c, a) })
}

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
			cfg, closeAll, err := open(ctx, f)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, closeAll()) }()
			r, err := llmgw.NewRequestRouter(ctx, cfg)
			if err != nil {
				return err
			}
			go llmgw.ReloadOnHangup(ctx, cfg.Logger, func() (llmgw.File, error) { return settings(cmd) }, r.Reload)
			return r.ListenAndServe(ctx, nil)
		},
	}
}
