package llmgw

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/router"
)

func TestChoiceOf(t *testing.T) {
	t.Parallel()
	at := time.Unix(1, 0)
	got := choiceOf(&router.Decision{
		Request: "req_1", At: at, Model: "m", Adapter: "a", PromptTokens: 9, Ask: router.Ask{Rate: 2, Busy: .5}, More: 1,
		Options: []router.Option{
			{Replica: "r1", Cost: .1, Candidate: router.Candidate{Outstanding: 3, Wait: time.Second, Work: time.Minute, Cached: 4, Resident: true, Share: 1}},
			{Replica: "r2", Cost: .2, Candidate: router.Candidate{LastResort: true, Share: .25}},
		},
	})
	want := view.Choice{
		At: at, Model: "m", Adapter: "a", Replica: "r1", PromptTokens: 9, RatePerS: 2, Busy: .5, More: 1,
		Options: []view.ChoiceOption{
			{Replica: "r1", WaitMS: 1000, WorkMS: 60_000, CachedTokens: 4, Outstanding: 3, AdapterResident: true, Cost: .1},
			{Replica: "r2", LastResort: true, Share: .25, Cost: .2},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want + got:\n%s", diff)
	}
	if _, ok := (choices{&router.Router{}}).ExplainRequest("req_1"); ok {
		t.Error("a router that chose nothing explains a request")
	}
}
