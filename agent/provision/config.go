package provision

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"llmgw.io/llmgw/agent/fetch"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// Fetch brings files of a mirror to this machine: absolute paths, in order, each
// of the right hash. It goes on where it stopped. *fetch.Fetcher is behind it.
type Fetch interface {
	Files(ctx context.Context, files []protocol.DesiredFile, told func(inventory.Fetch, string)) ([]string, error)
}

// Config is what an Installer needs.
type Config struct {
	// Dir is the absolute folder for builds of engines. Required.
	Dir string
	// Mirror is the address that files are fetched from, below which stand
	// manifest.json and what it lists. Empty: nothing can be installed, and who
	// wants a build is told so.
	Mirror string
	// Pin is the SHA-256 of the mirror's manifest.json, in hexadecimal. Required
	// with a Mirror: without it a mirror could offer anything.
	Pin string
	// Fetch fetches. Nil: a fetcher that keeps what it has below Dir, and reaches
	// public addresses over https, and beyond them what Reach allows.
	Fetch Fetch
	Reach fetch.Reach
	// Changed is called when what is installed or under way has changed. It must
	// not block. May be nil.
	Changed func()
	// InUse reports whether a process runs from the folder. Nil: by /proc.
	InUse func(folder string) bool
	// Smoke bounds one proving run. Zero: 2 min; importing vLLM takes tens of
	// seconds on a cold disk.
	Smoke time.Duration
	// Retry is the first pause after a failure, doubled up to an hour. Zero: 1 min.
	Retry time.Duration
	// OS and Arch are this machine's. Empty: those this program was built for.
	OS, Arch string
	// Logger nil is silent.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.Smoke == 0 {
		c.Smoke = 2 * time.Minute
	}
	if c.Retry == 0 {
		c.Retry = time.Minute
	}
	if c.InUse == nil {
		c.InUse = inUse
	}
	if c.OS == "" {
		c.OS = runtime.GOOS
	}
	if c.Arch == "" {
		c.Arch = runtime.GOARCH
	}
	if c.Changed == nil {
		c.Changed = func() {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Mirror = strings.TrimSuffix(c.Mirror, "/")
	return c
}

func (c *Config) check() error {
	var errs []error
	if !filepath.IsAbs(c.Dir) {
		errs = append(errs, fmt.Errorf("provision: Config.Dir %q must be an absolute folder", c.Dir))
	}
	if c.Mirror == "" {
		return errors.Join(errs...)
	}
	if u, err := url.Parse(c.Mirror); err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" {
		errs = append(errs, fmt.Errorf("provision: the mirror %q must be an address like https://mirror/engines, without a password", c.Mirror))
	}
	if !hexSum.MatchString(strings.ToLower(c.Pin)) {
		errs = append(errs, errors.New("provision: the mirror's manifest is not pinned; give the SHA-256 of its manifest.json (sha256sum manifest.json)"))
	}
	return errors.Join(errs...)
}
