package simengine

import (
	"strings"

	"llmgw.io/llmgw/router/openai"
)

// job is one request for text, understood: what came in, what goes out, and how it fails.
type job struct {
	at      openai.Endpoint
	req     openai.Request
	prompts [][]string
	choices []choice
	cached  int
	fail    Failure
	temper  Temper
}

// choice is one answer, token by token.
type choice struct {
	steps  []step
	reason string
}

// step is one token: of the text, or of a tool call.
type step struct {
	text string
	call *openai.ToolCall
}

// understand makes a job of a request.
func (e *Engine) understand(at openai.Endpoint, req openai.Request, b body) (*job, *fault) {
	j := &job{at: at, req: req, temper: e.Temper()}
	var say []string
	if at == openai.Chat {
		j.prompts = [][]string{chatPrompt(b.Messages)}
		say = []string{lastUser(b.Messages)}
	} else {
		var ok bool
		if j.prompts, ok = prompts(b.Prompt); !ok {
			return nil, badRequest("The prompt must be a text, a list of texts, or token ids")
		}
		for _, p := range j.prompts {
			say = append(say, strings.Join(p, ""))
		}
	}
	for i, p := range j.prompts {
		limit, bad := j.limit(len(p))
		if bad != nil {
			return nil, bad
		}
		for range req.N {
			j.choices = append(j.choices, e.answer(j, b, say[i], limit))
		}
	}
	j.fail = e.drawFailure(j.temper)
	return j, nil
}

// limit gives how many tokens may follow a prompt. Like vLLM, it refuses a request whose limit cannot be reached.
func (j *job) limit(prompt int) (int, *fault) {
	most := j.temper.MaxModelLen
	if prompt+max(j.req.MaxTokens, 1) > most {
		return 0, tooLong(most, prompt, max(j.req.MaxTokens, 0))
	}
	if j.req.MaxTokens < 0 {
		return most - prompt, nil
	}
	return max(j.req.MaxTokens, 1), nil
}

// answer makes one choice.
func (e *Engine) answer(j *job, b body, echo string, limit int) choice {
	if calls := toolCalls(b); len(calls) > 0 {
		return cutTo(choice{steps: callSteps(calls), reason: "tool_calls"}, limit)
	}
	word := j.temper.Say
	if e.isAdapter(j.req.Model) {
		word = j.req.Model
	}
	pieces := split(validText(echo))
	if word != "" {
		pieces = strings.SplitAfter(strings.Repeat(word+" ", j.temper.OutputTokens), " ")[:j.temper.OutputTokens]
		pieces[len(pieces)-1] = word
	}
	if len(pieces) == 0 {
		pieces = []string{"ok"}
	}
	c := choice{reason: "stop"}
	for _, p := range pieces {
		c.steps = append(c.steps, step{text: p})
	}
	if b.IgnoreEOS {
		c.reason = "length"
	}
	for n := len(c.steps); b.IgnoreEOS && len(c.steps) < limit; {
		c.steps = append(c.steps, c.steps[len(c.steps)-n])
	}
	return cutTo(c, limit)
}

// cutTo ends a choice at the limit.
func cutTo(c choice, limit int) choice {
	if len(c.steps) > limit {
		c.steps, c.reason = c.steps[:limit], "length"
	}
	return c
}

// drawFailure decides whether a request fails, and how.
func (e *Engine) drawFailure(t Temper) Failure {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.chance.IntN(100) >= t.FailureRate {
		return ""
	}
	return t.Failures[e.chance.IntN(len(t.Failures))]
}

func (j *job) promptTokens() (n int) {
	for _, p := range j.prompts {
		n += len(p)
	}
	return n
}

// longest gives the number of tokens of the longest choice.
func (j *job) longest() (n int) {
	for _, c := range j.choices {
		n = max(n, len(c.steps))
	}
	return n
}

// usage counts the tokens of a job that is done.
func (j *job) usage() openai.Usage {
	u := openai.Usage{PromptTokens: int64(j.promptTokens()), CachedTokens: int64(j.cached), CachedKnown: true}
	for _, c := range j.choices {
		u.CompletionTokens += int64(len(c.steps))
	}
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	return u
}

// whole gives a choice as it stands in an answer that is not streamed.
func (c choice) whole(index int) openai.Choice {
	out := openai.Choice{Index: index, FinishReason: c.reason}
	for _, s := range c.steps {
		switch {
		case s.call == nil:
			out.Text += s.text
		case s.call.ID != "":
			out.ToolCalls = append(out.ToolCalls, *s.call)
		default:
			out.ToolCalls[s.call.Index].Arguments += s.call.Arguments
		}
	}
	return out
}
