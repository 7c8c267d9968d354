package fetch

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
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
	// Hub is where hf:// sources are found. Its zero value has none.
	Hub Hub
	// Mirror is the address of a server of files by their hash, asked before every
	// other source of a file whose hash is known, at
	// <Mirror>/blobs/sha256:<64 hexadecimal digits>. Empty: there is none, and
	// mirror:// sources are refused.
	Mirror string
	// Stall is how long a download may bring no byte, or fewer than MinRate: then
	// it is broken off and gone on with. Zero: 30 s.
	Stall time.Duration
	// MinRate is the least rate of a download in bytes a second, over the time of
	// Stall. Zero: 4 KiB.
	MinRate int64
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
	if c.MinRate == 0 {
		c.MinRate = 4 << 10
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
	var errs []error
	if !filepath.IsAbs(c.Dir) {
		errs = append(errs, fmt.Errorf("fetch: Config.Dir %q must be an absolute folder", c.Dir))
	}
	if c.Hub.TokenFile != "" && !filepath.IsAbs(c.Hub.TokenFile) {
		errs = append(errs, fmt.Errorf("fetch: Config.Hub.TokenFile %q must be an absolute path", c.Hub.TokenFile))
	}
	return errors.Join(append(errs, address("Hub.Endpoint", c.Hub.Endpoint), address("Mirror", c.Mirror))...)
}

// address wants a base address of a server, or none.
func address(field, s string) error {
	u, err := url.Parse(s)
	if s == "" || err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == "" {
		return nil
	}
	return fmt.Errorf("fetch: Config.%s must be an address such as https://host, without a name, a query or a fragment", field)
}
