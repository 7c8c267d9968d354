package upgrade

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"llmgw.io/llmgw/agent/fetch"
	"llmgw.io/llmgw/internal/release"
)

// Config is what an Upgrader needs.
type Config struct {
	// Dir is the agent's absolute data folder. Required.
	Dir string
	// Version is what runs. One that is no release's tag, as of a build without one,
	// may become any.
	Version string
	// URL is where releases are: below it a folder for each version, and in it files
	// named like llmgw-agent_linux_amd64 with their signatures. It begins with
	// https://, http:// or file://. Required.
	URL string
	// Keys are public keys in minisign's form, of which one must have signed. Empty:
	// every upgrade is refused, and told which setting is missing.
	Keys []string
	// Trial is how long a new version may take until the control plane has answered
	// it. Zero: 45 s, so that one that hangs is taken back before its node counts as
	// lost, and nothing that runs there is placed elsewhere.
	Trial time.Duration
	// Attempts is how often one is started in that time. Zero: three times.
	Attempts int
	// MaxBytes bounds the program. Zero: 256 MiB.
	MaxBytes int64
	// Smoke bounds the run that proves it. Zero: 30 s.
	Smoke time.Duration
	// HTTP fetches. Nil: a client that reaches public addresses over https, and
	// beyond them what Reach allows.
	HTTP  *http.Client
	Reach fetch.Reach
	// OS and Arch are this machine's. Empty: those this program was built for.
	OS, Arch string
	// Changed is called when the status has changed. It must not block. May be nil.
	Changed func()
	// Logger nil is silent.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.Trial == 0 {
		c.Trial = 45 * time.Second
	}
	if c.Attempts == 0 {
		c.Attempts = 3
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = 256 << 20
	}
	if c.Smoke == 0 {
		c.Smoke = 30 * time.Second
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
	c.URL = strings.TrimRight(c.URL, "/")
	return c
}

// check reads the keys, and says all that is wrong.
func (c *Config) check() (keys []release.Key, err error) {
	var errs []error
	if !filepath.IsAbs(c.Dir) {
		errs = append(errs, fmt.Errorf("upgrade: Config.Dir %q must be an absolute folder", c.Dir))
	}
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		errs = append(errs, errors.New("releases.url must be an address like https://host/releases, without a password or a query"))
	case u.Scheme == "file" && u.Host == "" && filepath.IsAbs(u.Path):
	case (u.Scheme == "https" || u.Scheme == "http") && u.Host != "":
	default:
		errs = append(errs, fmt.Errorf("releases.url %q must begin with https://, http:// or file:///", c.URL))
	}
	for i, text := range c.Keys {
		k, err := release.ParseKey(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("releases.keys[%d]: %w", i, err))
		}
		keys = append(keys, k)
	}
	if c.Trial < 0 || c.Attempts < 0 {
		errs = append(errs, errors.New("releases.trial: below zero; leave it out for the default"))
	}
	return keys, errors.Join(errs...)
}
