package view

import (
	"fmt"
	"time"
)

// RequestExplain says why a request went to the replicas that it went to.
type RequestExplain struct {
	RequestID string   `json:"request_id"`
	Choices   []Choice `json:"choices" doc:"one for each replica that was chosen, in order; a retry is another one"`
}

// Choice is one choice of a replica. What it was made by are expectations, not
// measurements.
type Choice struct {
	At           time.Time      `json:"at"`
	Model        string         `json:"model"`
	Adapter      string         `json:"adapter,omitempty"`
	Replica      string         `json:"replica" doc:"the one that was chosen"`
	Why          string         `json:"why"`
	PromptTokens int64          `json:"prompt_tokens" doc:"as the router guessed them, before any engine counted"`
	RatePerS     float64        `json:"rate_per_s" doc:"requests a second for each of the model's replicas, over the last minute"`
	Busy         float64        `json:"busy" doc:"share of the replicas that had a prompt to read, from 0 to 1"`
	Options      []ChoiceOption `json:"options" doc:"the chosen one, then the soonest others, at most 16 in all"`
	More         int            `json:"more,omitempty" doc:"further replicas that could have been chosen"`
}

// ChoiceOption is a replica that could be chosen.
type ChoiceOption struct {
	Replica         string  `json:"replica"`
	WaitMS          int64   `json:"wait_ms" doc:"until it comes to the request"`
	WorkMS          int64   `json:"work_ms" doc:"that the prompt then takes, less what is cached"`
	CachedTokens    int64   `json:"cached_tokens" doc:"of the prompt, that it was believed to hold"`
	Outstanding     int64   `json:"outstanding" doc:"requests in flight there"`
	AdapterResident bool    `json:"adapter_resident" doc:"it served this adapter, or none, last"`
	LastResort      bool    `json:"last_resort,omitempty" doc:"in trouble, or on a silent node: chosen only when all are"`
	Share           float64 `json:"share,omitempty" doc:"of a full share, while it warms up"`
	Cost            float64 `json:"cost" doc:"what the choice was made by, least first: the delay of all requests together, in seconds; 0 under a picker that counts otherwise"`
}

// ExplainRequest gives each choice its sentence. The chosen option comes first.
func ExplainRequest(id string, choices []Choice) RequestExplain {
	for i := range choices {
		c := &choices[i]
		c.At = c.At.UTC()
		c.Why = c.why()
	}
	return RequestExplain{RequestID: id, Choices: choices}
}

func (c *Choice) why() string {
	if len(c.Options) == 0 {
		return ""
	}
	it := &c.Options[0]
	what := fmt.Sprintf("A first token was expected after %s: %s until it comes to the request, and %s for the prompt, of which it holds %d of %d tokens.",
		ms(it.first()), ms(it.WaitMS), ms(it.WorkMS), min(it.CachedTokens, c.PromptTokens), c.PromptTokens)
	if len(c.Options) == 1 {
		return "It was the only replica that could be asked. " + what
	}
	if it.LastResort {
		return "All that could be asked are in trouble or on silent nodes. " + what
	}
	next := &c.Options[1]
	switch {
	case next.LastResort:
		return what + " The others are in trouble or on silent nodes."
	case next.first() < it.first() && it.Cost > 0:
		return what + fmt.Sprintf(" %s would have come to it sooner, after %s, and the request would have held up others for longer there.", next.Replica, ms(next.first()))
	case next.first() < it.first():
		return what + fmt.Sprintf(" %s would have come to it sooner, after %s.", next.Replica, ms(next.first()))
	case next.first() == it.first():
		return what + fmt.Sprintf(" %s was as good.", next.Replica)
	}
	return what + fmt.Sprintf(" The next best, %s, was expected to take %s.", next.Replica, ms(next.first()))
}

func (o *ChoiceOption) first() int64 { return o.WaitMS + o.WorkMS }

func ms(n int64) string { return (time.Duration(n) * time.Millisecond).String() }
