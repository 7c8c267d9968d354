package adminapi

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"llmgw.io/llmgw/storage"
)

// Config is what an API needs. Only Auth is required; a part that is nil closes
// its routes, which answer 501 with a sentence that says why.
type Config struct {
	// Auth says who calls. Required: there is no safe default.
	Auth Authenticator
	// Models nil: definitions can be neither read nor changed.
	Models Models
	// Cluster nil: nothing that is observed can be shown.
	Cluster Cluster
	// Operator nil: nothing can be retried or restarted.
	Operator Operator
	// Nodes nil: the state of nodes cannot be changed.
	Nodes Nodes
	// NodeCalls nil: live agents cannot be asked.
	NodeCalls NodeCalls
	// Fabrics nil: reports on networks go by what nodes say now, and no map can be
	// made.
	Fabrics Fabrics
	// Usage nil: no usage is shown, and no single request unless it is a
	// Requests too.
	Usage Usage
	// Keys nil: there are no client keys to manage.
	Keys Keys
	// Audit nil: no audit is kept, and the audit routes answer 501.
	Audit Audit
	// AdminTokens nil: tokens of this API cannot be managed.
	AdminTokens AdminTokens
	// JoinTokens nil: no machine can be invited.
	JoinTokens JoinTokens
	// NewJoinToken makes a permission to join. Required with JoinTokens.
	NewJoinToken func() (JoinSecret, error)
	// Pepper hashes keys and tokens that are made here. Required with Keys and
	// AdminTokens.
	Pepper storage.Pepper
	// EngineKey gives the key of a replica's engine to callers with the scope
	// for secrets. Nil: nobody is shown one.
	EngineKey func(replica string) string
	// Statics nil: replicas that others run are not listed.
	Statics Statics
	// Looks nil: nobody has looked at weights where they come from.
	Looks Looks
	// Choices nil: nobody can say why a request went where it went.
	Choices Choices
	// Store is shown in the summary and asked by readiness. Nil: there is none.
	Store Health
	// Metrics answers scrapes at /metrics, with a token that may read. Nil: there
	// is nothing to scrape.
	Metrics http.Handler
	// Leader says who leads. Nil: it is not shown.
	Leader func() string
	// Hosts are names, beside addresses and localhost, that requests may be
	// addressed to; it keeps pages of others from reaching a listener on
	// loopback through a name of theirs. "*" allows any, for listeners behind a
	// proxy that checks. Nil: addresses and localhost alone.
	Hosts []string
	// Version is shown in the summary and the document. Default "dev".
	Version string
	// Started is when the control plane started. Zero: when New was called.
	Started time.Time
	// Logger nil is silent.
	Logger *slog.Logger
}

// withDefaults checks everything and fills in defaults.
func (c Config) withDefaults() (Config, error) {
	var all []error
	if c.Auth == nil {
		all = append(all, errors.New("adminapi: Auth is required; use auth.New, or auth.NewInsecure on loopback"))
	}
	if c.JoinTokens != nil && c.NewJoinToken == nil {
		all = append(all, errors.New("adminapi: NewJoinToken is required with JoinTokens"))
	}
	if (c.Keys != nil || c.AdminTokens != nil) && len(c.Pepper) < 32 {
		all = append(all, errors.New("adminapi: Pepper needs at least 32 bytes with Keys or AdminTokens"))
	}
	if c.Version == "" {
		c.Version = "dev"
	}
	if c.Started.IsZero() {
		c.Started = time.Now()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, errors.Join(all...)
}
