package llmgw

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"llmgw.io/llmgw/adminapi"
)

// Prepare makes the data folder of a process and opens its logger and its
// pepper, and turns on what a program of its own should have. What is left to add
// to the answer is the Store.
func Prepare(f File, version string) (Config, error) {
	logger, err := f.Log.Logger(os.Stderr)
	if err != nil {
		return Config{}, err
	}
	if err := os.MkdirAll(f.DataDir, 0o700); err != nil {
		return Config{}, fmt.Errorf("make the data folder: %w; name another with --data-dir", err)
	}
	pepper, err := LoadPepper(f.PepperFile())
	if err != nil {
		return Config{}, err
	}
	return Config{Pepper: pepper, Settings: f, DataDir: f.DataDir, Version: version, InspectWeights: true, Logger: logger}, nil
}

// OpenAPI is the document of the admin API, for tools that need no server.
func OpenAPI(version string) ([]byte, error) { return adminapi.Document(version) }

// ReloadOnHangup reads the configuration again at each SIGHUP, until ctx ends. A
// wrong one is logged and changes nothing; what changed is logged line by line.
func ReloadOnHangup(ctx context.Context, logger *slog.Logger, read func() (File, error), reload func(File) ([]string, error)) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
		}
		f, err := read()
		var changes []string
		if err == nil {
			changes, err = reload(f)
		}
		if err != nil {
			logger.Error("the configuration was not reloaded; the old one stays in force", "err", err)
			continue
		}
		for _, c := range changes {
			logger.Info("reloaded", "change", c)
		}
		logger.Info("the configuration is in force; all but models needs a restart", "changes", len(changes))
	}
}
