package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw"
	"llmgw.io/llmgw/storage/bunstore"
)

// serverFlags are those of every command that serves. A flag beats its
// variable, which beats the file.
func serverFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "config", Usage: "configuration `FILE`", Sources: cli.EnvVars("LLMGW_CONFIG")},
		&cli.StringFlag{Name: "data-dir", Aliases: []string{"data"}, Usage: "`FOLDER` for everything that is kept", Sources: cli.EnvVars("LLMGW_DATA_DIR")},
		&cli.StringFlag{Name: "client", Usage: "`ADDRESS` where clients come in", Sources: cli.EnvVars("LLMGW_CLIENT")},
		&cli.StringFlag{Name: "log-level", Usage: "debug, info, warn or error", Sources: cli.EnvVars("LLMGW_LOG_LEVEL")},
		&cli.StringFlag{Name: "log-format", Usage: "json or text", Sources: cli.EnvVars("LLMGW_LOG_FORMAT")},
	}
}

// controlFlags are added where there is a control plane.
func controlFlags() []cli.Flag {
	return append(serverFlags(),
		&cli.StringFlag{Name: "admin", Usage: "`ADDRESS` of the admin API", Sources: cli.EnvVars("LLMGW_ADMIN")},
		&cli.StringFlag{Name: "agents", Usage: "`ADDRESS` where agents come in", Sources: cli.EnvVars("LLMGW_AGENTS")},
		&cli.BoolFlag{Name: "insecure-admin", Usage: "let everybody on this machine use the admin API without a token"},
	)
}

// settings reads the file and lays flags and variables over it.
func settings(cmd *cli.Command) (llmgw.File, error) {
	var f llmgw.File
	if path := cmd.String("config"); path != "" {
		var err error
		if f, err = llmgw.LoadFile(path); err != nil {
			return f, err
		}
	}
	for flag, field := range map[string]*string{
		"data-dir": &f.DataDir, "client": &f.Listen.Client.Address, "admin": &f.Listen.Admin.Address,
		"agents": &f.Listen.Agents.Address, "log-level": &f.Log.Level, "log-format": &f.Log.Format,
	} {
		if v := cmd.String(flag); v != "" {
			*field = v
		}
	}
	if f.DataDir == "" {
		f.DataDir = llmgw.DefaultDataDir()
	}
	dir, err := filepath.Abs(f.DataDir)
	if err != nil {
		return f, err
	}
	f.DataDir = dir
	return f, f.Check()
}

// opened is what every serving command stands on.
type opened struct {
	llmgw.Config
	store *bunstore.Store
}

// open makes the data folder, and opens the logger, the pepper and the store.
func open(ctx context.Context, f llmgw.File) (*opened, error) {
	logger, err := f.Log.Logger(os.Stderr)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(f.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w; name another with --data-dir", err)
	}
	pepper, err := llmgw.LoadPepper(pepperFile(f))
	if err != nil {
		return nil, err
	}
	store, err := bunstore.Open(ctx, bunstore.Config{DSN: dsn(f), Logger: logger})
	if err != nil {
		return nil, err
	}
	return &opened{
		Config: llmgw.Config{Store: store, Pepper: pepper, Settings: f, DataDir: f.DataDir, Version: version, Logger: logger},
		store:  store,
	}, nil
}

func pepperFile(f llmgw.File) string {
	if f.Secrets.KeyFile != "" {
		return f.Secrets.KeyFile
	}
	return filepath.Join(f.DataDir, "pepper")
}

func dsn(f llmgw.File) string {
	if f.Store.DSN != "" {
		return f.Store.DSN
	}
	return filepath.Join(f.DataDir, "llmgw.db")
}

// reloadOnHangup reads the configuration file again at each SIGHUP. A wrong file
// is logged and changes nothing.
func reloadOnHangup(ctx context.Context, cmd *cli.Command, logger *slog.Logger, reload func(llmgw.File) ([]string, error)) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
		}
		f, err := settings(cmd)
		if err == nil && cmd.String("config") == "" {
			err = errors.New("there is no configuration file; start with --config")
		}
		var changes []string
		if err == nil {
			changes, err = reload(f)
		}
		if err != nil {
			logger.Error("the configuration was not reloaded", "err", err)
			continue
		}
		for _, c := range changes {
			logger.Info("reloaded", "change", c)
		}
		logger.Info("the configuration is in force; all but models needs a restart", "changes", len(changes))
	}
}
