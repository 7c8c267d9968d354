//go:build e2e && unix

package e2e

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/internal/tinygguf"
)

// conversed is what conversations were made of.
type conversed struct {
	mu             sync.Mutex
	prompt, cached int64
	last           string // request
}

// TestConversationsAreCached holds nine conversations at once with three real
// engines of four slots each, and asks the engines how much of the prompts they
// had read before. Spread by load alone it is some four tenths; nine tenths are
// there to be found.
func TestConversationsAreCached(t *testing.T) {
	t.Parallel()
	needLlamaServer(t)
	p := startDev(t, t.TempDir())
	p.untilNode("here", "ready")
	p.add(catalog.Model{
		Name: "tiny", Source: "file://" + gguf(t, tinygguf.Options{Context: 4096}), Scaling: scaling(3, 3),
		Profiles: []catalog.Profile{{Name: "cpu", Engine: catalog.EngineLlamaCPP, Context: 4096, Slots: 4}},
	})
	p.untilReady("tiny", 3)
	var all conversed
	var wg sync.WaitGroup
	for n := range 9 {
		wg.Go(func() { all.converse(t, p.client(), n) })
	}
	wg.Wait()
	share := float64(all.cached) / float64(max(all.prompt, 1))
	t.Logf("%d of %d tokens of prompts were cached: %.0f %%", all.cached, all.prompt, 100*share)
	if share < .65 {
		t.Errorf("%d of %d tokens of prompts were cached; want two thirds", all.cached, all.prompt)
	}
	e, err := p.admin.ExplainRequest(t.Context(), all.last)
	if err != nil || len(e.Choices) != 1 || len(e.Choices[0].Options) != 3 || !strings.Contains(e.Choices[0].Why, "tokens") {
		t.Errorf("the last request is explained by %+v, %v", e, err)
	}
}

// converse has eight turns, each with all that was said before.
func (c *conversed) converse(t *testing.T, to client, n int) {
	dice := rand.New(rand.NewPCG(uint64(n), 9))
	body := chat{Model: "tiny", MaxTokens: 16, Options: map[string]bool{"include_usage": true}, Messages: []message{{"system", words(dice, 300)}}}
	for range 8 {
		body.Messages = append(body.Messages, message{"user", words(dice, 40)})
		st, err := to.stream(t.Context(), body)
		if err == nil {
			err = st.rest()
		}
		if err != nil || st.usage == nil {
			t.Errorf("conversation %d: %v, or nothing was counted", n, err)
			return
		}
		body.Messages = append(body.Messages, message{"assistant", st.text.String()})
		c.mu.Lock()
		c.prompt, c.cached = c.prompt+st.usage.Prompt, c.cached+st.usage.Details.Cached
		c.last = st.resp.Header.Get("X-Request-Id")
		c.mu.Unlock()
		time.Sleep(time.Duration(100+dice.IntN(300)) * time.Millisecond) // people think
	}
}

// words are so many, as many as the dice want of each.
func words(dice *rand.Rand, n int) string {
	lexicon := strings.Fields("alpha beta the of and his is it that was for on are with as they at be this from have or by one had not but what all")
	var b strings.Builder
	for range n {
		b.WriteString(lexicon[dice.IntN(len(lexicon))] + " ")
	}
	return b.String()
}
