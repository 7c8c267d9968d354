package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw/storage/bunstore"
)

func migrateCommand() *cli.Command {
	flags := serverFlags()[:2]
	return &cli.Command{
		Name:  "migrate",
		Usage: "look at or change the schema of a store that no server has open",
		Commands: []*cli.Command{
			{Name: "status", Usage: "list migrations and when they were applied", Flags: flags, Action: withStore(status)},
			{Name: "up", Usage: "bring the schema up to date", Flags: flags, Action: withStore(func(ctx context.Context, s *bunstore.Store, _ *cli.Command) error {
				return errors.Join(s.Migrate(ctx), status(ctx, s, nil))
			})},
			{
				Name: "down", Usage: "take the schema back to a version", Action: withStore(down),
				Flags: append(flags, &cli.IntFlag{Name: "to", Usage: "the `VERSION` to go back to", Required: true}),
			},
		},
	}
}

func withStore(do func(context.Context, *bunstore.Store, *cli.Command) error) cli.ActionFunc {
	return func(ctx context.Context, cmd *cli.Command) (err error) {
		f, err := settings(cmd)
		if err != nil {
			return err
		}
		s, err := bunstore.Open(ctx, bunstore.Config{DSN: f.StoreDSN(), KeepSchema: true})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		return do(ctx, s, cmd)
	}
}

func status(ctx context.Context, s *bunstore.Store, _ *cli.Command) error {
	list, err := s.MigrationStatus(ctx)
	if err != nil {
		return err
	}
	for _, m := range list {
		when := "not applied"
		if !m.AppliedAt.IsZero() {
			when = "applied " + m.AppliedAt.UTC().Format("2006-01-02 15:04:05Z")
		}
		fmt.Printf("%04d  %-30s %s\n", m.Version, m.Name, when)
	}
	return nil
}

func down(ctx context.Context, s *bunstore.Store, cmd *cli.Command) error {
	return errors.Join(s.MigrateDown(ctx, cmd.Int("to")), status(ctx, s, cmd))
}
