package fetch

import (
	"errors"
	"log/slog"
	"net/http"

	"llmgw.io/llmgw/internal/safedial"
)

// Reach allows fetching from where nothing is allowed by default.
type Reach struct {
	// Private are addresses or networks, each with one port, that may be reached
	// though they are not public ("10.0.0.0/8:8080", "127.0.0.1:9000").
	Private []string `json:"private,omitempty"`
	// PlainHTTP allows http:// as well as https://.
	PlainHTTP bool `json:"plain_http,omitempty"`
}

// client makes the client that fetches weights. Sources are chosen by whoever
// may define a model, so it refuses what a download has no business to reach.
func (c *Config) client() (*http.Client, error) {
	if c.HTTP != nil {
		return c.HTTP, nil
	}
	return c.Reach.Client("weights", c.Logger)
}

// Client reaches public addresses over https, and beyond them what is allowed. Its
// answers have no limits of bytes or of time in all, only of silence: who uses it
// counts. The name is for its log.
func (r Reach) Client(name string, logger *slog.Logger) (*http.Client, error) {
	cfg := safedial.Config{Name: name, AllowHTTP: r.PlainHTTP, Logger: logger, MaxBody: -1, Timeout: -1}
	var errs []error
	for _, s := range r.Private {
		a, err := safedial.ParseAllow(s)
		errs = append(errs, err)
		cfg.Allow = append(cfg.Allow, a)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return safedial.New(cfg)
}

// policyRefusal tells refusals, which stay, from failures of a network. The
// sentence says the same for every refused address, so that nobody learns from
// it what an inner network holds.
func policyRefusal(err error) (text string, refused bool) {
	switch {
	case errors.Is(err, safedial.ErrRefused):
		return "the source leads to an address that this node may not fetch from; use a public one over https, or allow it in the agent's configuration", true
	case errors.Is(err, safedial.ErrURL):
		return safedial.Plain(err).Error() + "; correct the source in the definition", true
	}
	return "", false
}
