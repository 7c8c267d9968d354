package main

import (
	"context"
	"path/filepath"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw"
	"llmgw.io/llmgw/internal/telemetry"
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

// open prepares the data folder and opens the store in it, and what is measured.
func open(ctx context.Context, f llmgw.File) (cfg llmgw.Config, closeAll func() error, err error) {
	if cfg, err = llmgw.Prepare(f, version); err != nil {
		return cfg, nil, err
	}
	t, err := telemetry.Open(ctx, telemetry.Config{
		Service: "llmgw-control", Version: version, Instance: f.DataDir,
		Endpoint: f.OTel.Endpoint, Headers: f.OTel.Headers, Sample: f.OTel.Sample, Logger: cfg.Logger,
	})
	if err != nil {
		return cfg, nil, err
	}
	cfg.MeterProvider, cfg.TracerProvider, cfg.Metrics = t.Meters(), t.Tracers(), t.Metrics()
	store, err := bunstore.Open(ctx, bunstore.Config{DSN: f.StoreDSN(), Logger: cfg.Logger})
	cfg.Store = store
	return cfg, func() error { t.Flush(cfg.Logger); return store.Close() }, err
}
