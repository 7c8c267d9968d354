package view_test

import (
	"strings"
	"testing"

	"llmgw.io/llmgw/adminapi/view"
)

func aChoice() view.Choice {
	return view.Choice{
		At: now, Model: "big", Adapter: "fruit", Replica: "big-1", PromptTokens: 5000, RatePerS: 2.5, Busy: .4,
		Options: []view.ChoiceOption{
			{Replica: "big-1", WaitMS: 200, WorkMS: 110, CachedTokens: 4096, Outstanding: 2, AdapterResident: true, Cost: .27},
			{Replica: "big-2", WorkMS: 900, Share: .5, Cost: 2.6},
		},
		More: 3,
	}
}

// The sentence says what made the difference.
func TestWhyARequestWentThere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*view.Choice)
		want   string
	}{
		{"the soonest", func(*view.Choice) {}, "after 310ms: 200ms until it comes to the request, and 110ms for the prompt, of which it holds 4096 of 5000 tokens. The next best, big-2, was expected to take 900ms."},
		{"not the soonest", func(c *view.Choice) { c.Options[1].WorkMS = 250 }, "big-2 would have come to it sooner, after 250ms, and the request would have held up others"},
		{"not the soonest, of a picker that does not look", func(c *view.Choice) { c.Options[1].WorkMS, c.Options[0].Cost = 250, 0 }, "big-2 would have come to it sooner, after 250ms."},
		{"equals", func(c *view.Choice) { c.Options[1].WorkMS = 310 }, "big-2 was as good."},
		{"the only one", func(c *view.Choice) { c.Options = c.Options[:1] }, "It was the only replica that could be asked."},
		{"others in trouble", func(c *view.Choice) { c.Options[1].LastResort = true }, "The others are in trouble or on silent nodes."},
		{"all in trouble", func(c *view.Choice) { c.Options[0].LastResort, c.Options[1].LastResort = true, true }, "All that could be asked are in trouble"},
		{"more held than there is", func(c *view.Choice) { c.Options[0].CachedTokens = 6000 }, "5000 of 5000 tokens"},
		{"nothing", func(c *view.Choice) { c.Options = nil }, ""},
	} {
		choice := aChoice()
		c.change(&choice)
		if got := view.ExplainRequest("req_1", []view.Choice{choice}).Choices[0].Why; !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: want %q in %q", c.name, c.want, got)
		}
	}
}
