package fetch

import (
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"time"
)

// Config is what a Fetcher needs.
type Config struct {
	// Dir is the absolute folder that weights are fetched to. Required; it is
	// made when something is fetched.
	Dir string
	// LowWaterBytes is how much room on the folder's disk fetching leaves free.
	// Zero: 10 % of the disk or 50 GiB, the smaller.
	LowWaterBytes int64
	// HTTP fetches. Nil: a client that reaches public addresses over https, and
	// beyond them what Reach allows.
	HTTP *http.Client
	// Reach is what the client that is made here may reach beyond public
	// addresses over https.
	Reach Reach
	// Stall is how long a download may bring no byte. Zero: 30 s.
	Stall time.Duration
	// Retry is the first pause after a failed try, doubled up to a minute. Zero: 1 s.
	Retry time.Duration
	// Look is between two words of progress, and between two tries to lock a
	// folder that another agent writes to. Zero: 500 ms.
	Look time.Duration
	// Logger nil is silent.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.Stall == 0 {
		c.Stall = 30 * time.Second
	}
	if c.Retry == 0 {
		c.Retry = time.Second
	}
	if c.Look <= 0 {
		c.Look = 500 * time.Millisecond
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func (c *Config) check() error {
	if !filepath.IsAbs(c.Dir) {
		return fmt.Errorf("fetch: Config.Dir %q must be an absolute folder", c.Dir)
	}
	return nil
}
