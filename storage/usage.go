package storage

import (
	"slices"
	"time"
)

// Request is the record of one client request: what was asked, who asked, what
// it cost. It never holds a prompt or an answer.
type Request struct {
	ID        string    `json:"request_id"`
	At        time.Time `json:"at"`
	KeyID     string    `json:"key_id"`
	UserID    string    `json:"user_id,omitempty"`
	ProjectID string    `json:"project_id"`
	// Model is what the client asked for; ServedModel what answered.
	Model       string `json:"model"`
	ServedModel string `json:"served_model"`
	Replica     string `json:"replica,omitempty"`
	// Endpoint is the route: "chat", "completions", "embeddings".
	Endpoint string `json:"endpoint,omitempty"`
	Stream   bool   `json:"stream,omitempty"`
	// Status is the HTTP status the client got; 499 when it went away first.
	Status int `json:"status"`
	// Outcome is a closed list: see the constants.
	Outcome   Outcome       `json:"outcome"`
	Latency   time.Duration `json:"latency"`
	Queued    time.Duration `json:"queued,omitempty"`
	FirstByte time.Duration `json:"ttft,omitempty"`
	// Tokens as the engine counted them. Estimated says that it did not, and
	// they are an estimate.
	PromptTokens     int64 `json:"prompt_tokens"`
	CachedTokens     int64 `json:"cached_tokens,omitempty"`
	CompletionTokens int64 `json:"completion_tokens"`
	Estimated        bool  `json:"estimated,omitempty"`
	CostMicros       int64 `json:"cost_micros"`
	// Attempts are the replicas tried, in order, the last one included.
	Attempts []Attempt         `json:"attempts,omitempty"`
	EndUser  string            `json:"end_user,omitempty"`
	Tags     map[string]string `json:"tags,omitempty"`
}

// Attempt is one try at one replica.
type Attempt struct {
	Replica string `json:"replica"`
	// Model is the model that was tried there, when it is not the one that the
	// client asked for but one that stands in for it. Empty: the one asked for.
	Model  string `json:"model,omitempty"`
	Status int    `json:"status,omitempty"`
	Error  string `json:"error,omitempty"`
}

// Outcome is how a request ended.
type Outcome string

// The outcomes.
const (
	OutcomeOK Outcome = "ok"
	// OutcomeRefused was answered by the router itself: no key, no model, full.
	OutcomeRefused Outcome = "refused"
	// OutcomeUpstreamError was answered with an error by the replica.
	OutcomeUpstreamError Outcome = "upstream_error"
	// OutcomeUpstreamAborted broke off after its first byte.
	OutcomeUpstreamAborted Outcome = "upstream_aborted"
	// OutcomeCancelled was left by the client.
	OutcomeCancelled Outcome = "cancelled"
)

// Failed reports whether the request counts as an error in sums. A client that
// went away is no error.
func (r *Request) Failed() bool {
	return r.Outcome != OutcomeOK && r.Outcome != OutcomeCancelled
}

// Billed is the model that a request is summed under: the one that answered,
// else the one that was asked for.
func (r *Request) Billed() string {
	if r.ServedModel != "" {
		return r.ServedModel
	}
	return r.Model
}

// Kept returns the request as stores keep it: in UTC, under a project, and in
// text that every database can hold. now stands in for a missing time.
func (r *Request) Kept(now time.Time) Request {
	c := *r
	if c.At.IsZero() {
		c.At = now
	}
	c.At = c.At.UTC().Round(0)
	for _, s := range []*string{&c.ID, &c.KeyID, &c.UserID, &c.ProjectID, &c.Model, &c.ServedModel, &c.Replica, &c.Endpoint, &c.EndUser} {
		*s = CleanText(*s)
	}
	c.Outcome = Outcome(CleanText(string(c.Outcome)))
	if c.ProjectID == "" {
		c.ProjectID = DefaultProject
	}
	return c
}

// Level is what usage is summed by.
type Level string

// The levels of sums.
const (
	ByOrg     Level = "org"
	ByTeam    Level = "team"
	ByProject Level = "project"
	ByUser    Level = "user"
	ByKey     Level = "key"
	ByModel   Level = "model"
)

// Levels lists every level, as messages show them.
var Levels = []Level{ByOrg, ByTeam, ByProject, ByUser, ByKey, ByModel}

// Valid reports whether l is one of the levels.
func (l Level) Valid() bool { return slices.Contains(Levels, l) }

// UsageQuery asks for sums.
type UsageQuery struct {
	By Level
	// Since leaves out requests before it. Zero: none.
	Since time.Time
}

// UsageSum is one scope's use.
type UsageSum struct {
	Scope Level
	// ID is empty for requests that belong to no scope of this level, so that
	// sums stay whole.
	ID, Name string
	// Keys is how many client keys were used.
	Keys             int
	Requests         int64
	PromptTokens     int64
	CompletionTokens int64
	CostMicros       int64
	Errors           int64
	LastAt           time.Time
}
