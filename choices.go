package llmgw

import (
	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/router"
)

// choices are the router's decisions, as people are shown them.
type choices struct{ router *router.Router }

// ExplainRequest says how the replicas of a request were chosen.
func (c choices) ExplainRequest(id string) (view.RequestExplain, bool) {
	made := c.router.Decisions(id)
	out := make([]view.Choice, len(made))
	for i := range made {
		out[i] = choiceOf(&made[i])
	}
	return view.ExplainRequest(id, out), len(out) > 0
}

func choiceOf(d *router.Decision) view.Choice {
	c := view.Choice{
		At: d.At, Model: string(d.Model), Adapter: string(d.Adapter), PromptTokens: d.PromptTokens,
		RatePerS: d.Ask.Rate, Busy: d.Ask.Busy, More: d.More,
	}
	for _, o := range d.Options {
		if o.Share == 1 {
			o.Share = 0 // only what is warming up says so
		}
		c.Options = append(c.Options, view.ChoiceOption{
			Replica: o.Replica, WaitMS: o.Wait.Milliseconds(), WorkMS: o.Work.Milliseconds(), CachedTokens: o.Cached,
			Outstanding: o.Outstanding, AdapterResident: o.Resident, LastResort: o.LastResort, Share: o.Share, Cost: o.Cost,
		})
	}
	if len(c.Options) > 0 {
		c.Replica = c.Options[0].Replica
	}
	return c
}
