package view

import (
	"time"

	"llmgw.io/llmgw/storage"
)

// Request is the record of one client request. It never holds a prompt or an
// answer.
type Request struct {
	RequestID        string            `json:"request_id"`
	At               time.Time         `json:"at"`
	KeyID            string            `json:"key_id"`
	UserID           string            `json:"user_id,omitempty"`
	ProjectID        string            `json:"project_id"`
	Model            string            `json:"model" doc:"what the client asked for"`
	ServedModel      string            `json:"served_model" doc:"what answered"`
	Replica          string            `json:"replica,omitempty"`
	Endpoint         string            `json:"endpoint,omitempty"`
	Status           int               `json:"status" doc:"499 when the client went away first"`
	Outcome          string            `json:"outcome,omitempty"`
	LatencyMS        int64             `json:"latency_ms"`
	QueueMS          int64             `json:"queue_ms"`
	TTFTMS           int64             `json:"ttft_ms"`
	PromptTokens     int64             `json:"prompt_tokens"`
	CompletionTokens int64             `json:"completion_tokens"`
	Estimated        bool              `json:"estimated,omitempty" doc:"the engine did not count, and the tokens are an estimate"`
	CostMicros       int64             `json:"cost_micros"`
	Attempts         []Attempt         `json:"attempts,omitempty" doc:"replicas tried, in order, the last one included"`
	GuardAction      string            `json:"guard_action,omitempty"`
	GuardPolicy      string            `json:"guard_policy,omitempty"`
	GuardCategory    string            `json:"guard_category,omitempty"`
	GuardMS          int64             `json:"guard_ms,omitempty"`
	EndUser          string            `json:"end_user,omitempty"`
	Tags             map[string]string `json:"tags,omitempty"`
	CacheHit         bool              `json:"cache_hit,omitempty"`
}

// Attempt is one try at one replica.
type Attempt = storage.Attempt

// RequestOf builds one record.
func RequestOf(r storage.Request) Request {
	return Request{
		RequestID: r.ID, At: r.At.UTC(), KeyID: r.KeyID, UserID: r.UserID, ProjectID: r.ProjectID, Model: r.Model,
		ServedModel: r.ServedModel, Replica: r.Replica, Endpoint: r.Endpoint, Status: r.Status, Outcome: string(r.Outcome),
		LatencyMS: r.Latency.Milliseconds(), QueueMS: r.Queued.Milliseconds(), TTFTMS: r.FirstByte.Milliseconds(),
		PromptTokens: r.PromptTokens, CompletionTokens: r.CompletionTokens, Estimated: r.Estimated, CostMicros: r.CostMicros,
		Attempts: r.Attempts, EndUser: r.EndUser, Tags: r.Tags,
	}
}

// ScopeUsage is one scope's use. The budget is there only where this level sets
// one; Fraction is the spend in the budget's current period, over the budget.
type ScopeUsage struct {
	Scope            string    `json:"scope"`
	ID               string    `json:"id"`
	Name             string    `json:"name"`
	Keys             int       `json:"keys"`
	Requests         int64     `json:"requests"`
	PromptTokens     int64     `json:"prompt_tokens"`
	CompletionTokens int64     `json:"completion_tokens"`
	CostMicros       int64     `json:"cost_micros"`
	Errors           int64     `json:"errors"`
	LastAt           time.Time `json:"last_at,omitzero"`
	BudgetMicros     *int64    `json:"budget_micros,omitempty"`
	BudgetPeriod     string    `json:"budget_period,omitempty"`
	Fraction         *float64  `json:"fraction,omitempty"`
}

// UsageOf builds the sums, in their order.
func UsageOf(sums []storage.UsageSum) []ScopeUsage {
	out := make([]ScopeUsage, 0, len(sums))
	for _, s := range sums {
		out = append(out, ScopeUsage{
			Scope: string(s.Scope), ID: s.ID, Name: s.Name, Keys: s.Keys, Requests: s.Requests, PromptTokens: s.PromptTokens,
			CompletionTokens: s.CompletionTokens, CostMicros: s.CostMicros, Errors: s.Errors, LastAt: utc(s.LastAt),
		})
	}
	return out
}

// utc leaves the zero time zero.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}
