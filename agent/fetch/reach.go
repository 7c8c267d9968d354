package fetch

import (
	"errors"
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
	cfg := safedial.Config{
		Name: "weights", AllowHTTP: c.Reach.PlainHTTP, Logger: c.Logger,
		MaxBody: -1, Timeout: -1,
	}
	var errs []error
	for _, s := range c.Reach.Private {
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
