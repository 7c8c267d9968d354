package openai

import "strconv"

// Usage is the tokens that an engine counted.
type Usage struct {
	PromptTokens     int64
	CompletionTokens int64
	TotalTokens      int64
	// CachedTokens is the part of the prompt that came from a prefix cache. 0 means none or not said: CachedKnown tells.
	CachedTokens int64
	// CachedKnown is true when the engine said how much came from a cache.
	CachedKnown bool
	// ReasoningTokens is the part of the completion that was reasoning; 0 when the engine does not tell it apart.
	ReasoningTokens int64
}

// UsageSource says where a usage was found.
type UsageSource uint8

// The sources of usage.
const (
	// UsageUnknown: the answer says nothing. It is not a usage of zero.
	UsageUnknown UsageSource = iota
	// UsageTimings: from llama-server's timings, which it sends where no usage was asked for.
	UsageTimings
	// UsageReported: from a usage object.
	UsageReported
)

// Facts is what the router needs to know of an answer or of one event of it.
type Facts struct {
	// Usage counts only when Source is not UsageUnknown.
	Usage  Usage
	Source UsageSource
	// Choices is the number of choices; -1 when the answer has no such list.
	Choices int
	// Content is true when a choice carries text, reasoning, a refusal or a tool call; a role alone is none.
	Content bool
	// FinishReason is why a choice ended; empty while none has, "other" for one not in OpenAI's list.
	FinishReason string
	// Failed is true when the answer is an error.
	Failed bool
	// Whole is true when the JSON ended as it should.
	Whole bool
}

// UsageOnly reports whether an event is there for its usage alone, so that it can be left out for a client that did
// not ask for one.
func (f Facts) UsageOnly() bool {
	return f.Source == UsageReported && f.Choices <= 0 && !f.Content && !f.Failed
}

// Tally sums up the events of one stream. The zero value is ready.
type Tally struct {
	// Usage is the last one that was reported, since some engines count along on every event.
	Usage  Usage
	Source UsageSource
	// ContentEvents is the number of events with content: a lower bound for the tokens where the engine counted none.
	ContentEvents int64
	// FinishReason is the last one seen.
	FinishReason string
	// Done is true when the end mark came, and Failed when an error did.
	Done, Failed bool
}

// Add counts one event and gives its facts.
func (t *Tally) Add(ev *Event) Facts {
	if ev.Kind == KindDone {
		t.Done = true
		return Facts{Choices: -1}
	}
	f := ev.Facts()
	if f.Source != UsageUnknown && f.Source >= t.Source {
		t.Usage, t.Source = f.Usage, f.Source
	}
	if f.Content {
		t.ContentEvents++
	}
	if f.FinishReason != "" {
		t.FinishReason = f.FinishReason
	}
	t.Failed = t.Failed || f.Failed
	return f
}

// appendUsage appends a usage object.
func appendUsage(dst []byte, u Usage) []byte {
	dst = strconv.AppendInt(append(dst, `{"prompt_tokens":`...), u.PromptTokens, 10)
	dst = strconv.AppendInt(append(dst, `,"completion_tokens":`...), u.CompletionTokens, 10)
	dst = strconv.AppendInt(append(dst, `,"total_tokens":`...), u.PromptTokens+u.CompletionTokens, 10)
	if u.CachedKnown {
		dst = strconv.AppendInt(append(dst, `,"prompt_tokens_details":{"cached_tokens":`...), u.CachedTokens, 10)
		dst = append(dst, '}')
	}
	return append(dst, '}')
}
