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
	// Call is true when it is a tool call. Engines that read calls as they are made hold back pieces of them for long.
	Call bool
	// FinishReason is why a choice ended; empty while none has, "other" for one not in OpenAI's list.
	FinishReason string
	// Ended has a bit for each choice that came to its end, by its index; those from 63 on share the last bit.
	Ended uint64
	// PerChoice is true when the usage is one choice's alone, however many there are.
	PerChoice bool
	// Failed is true when the answer is an error, or was dropped.
	Failed bool
	// Whole is true when the JSON ended as it should.
	Whole bool
}

// UsageOnly reports whether an event is there for its usage alone, so that it can be left out for a client that did
// not ask for one.
func (f Facts) UsageOnly() bool {
	return f.Source == UsageReported && f.Choices <= 0 && !f.Content && !f.Failed
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
