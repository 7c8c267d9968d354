package openai

import "bytes"

// role is what a value is to a probe. The zero role is the answer's own, so that the zero Probe is ready. The numbers
// follow, since a role below numberRoles is an index into them.
type role uint8

const (
	roleTop role = iota
	rolePrompt
	roleCompletion
	roleTotal
	roleCached
	roleReasoning
	roleCacheN
	rolePromptN
	rolePredictedN
	roleIndex
	numberRoles
)

// The containers that are looked into, and the values that are looked at.
const (
	roleSkip role = numberRoles + iota
	roleChoices
	roleChoice
	roleDelta
	roleUsage
	roleDetails
	roleTimings
	roleText
	roleCalls
	roleFinish
	roleError
	roleObject
)

// usageNumbers are the bits of the numbers that a usage object gives.
const usageNumbers = 1<<rolePrompt | 1<<roleCompletion | 1<<roleTotal | 1<<roleCached | 1<<roleReasoning

// isObject reports whether a role is an object's that we look into.
func (r role) isObject() bool {
	switch r {
	case roleTop, roleChoice, roleDelta, roleUsage, roleDetails, roleTimings:
		return true
	}
	return false
}

// roleOf gives the role of the member key of a container.
func roleOf(in role, key []byte) role {
	switch in {
	case roleTop:
		return topRole(key)
	case roleChoice:
		return choiceRole(key)
	case roleDelta:
		return deltaRole(key)
	case roleUsage, roleDetails:
		return usageRole(in, key)
	case roleTimings:
		return timingsRole(key)
	}
	return roleSkip
}

func topRole(key []byte) role {
	switch string(key) {
	case "choices":
		return roleChoices
	case "usage":
		return roleUsage
	case "timings":
		return roleTimings
	case "error":
		return roleError
	case "object":
		return roleObject
	}
	return roleSkip
}

func choiceRole(key []byte) role {
	switch string(key) {
	case "delta", "message":
		return roleDelta
	case "text":
		return roleText
	case "finish_reason":
		return roleFinish
	case "index":
		return roleIndex
	}
	return roleSkip
}

func deltaRole(key []byte) role {
	switch string(key) {
	case "role":
		return roleSkip
	case "content", "reasoning_content", "reasoning", "refusal":
		return roleText
	case "tool_calls", "function_call", "audio":
		return roleCalls
	}
	// Whatever else an engine calls its reasoning must not be held back either.
	for _, part := range [...]string{"content", "reason", "think", "text"} {
		if bytes.Contains(key, []byte(part)) {
			return roleText
		}
	}
	return roleSkip
}

func usageRole(in role, key []byte) role {
	if in == roleDetails {
		switch string(key) {
		case "cached_tokens":
			return roleCached
		case "reasoning_tokens":
			return roleReasoning
		}
		return roleSkip
	}
	switch string(key) {
	case "prompt_tokens":
		return rolePrompt
	case "completion_tokens":
		return roleCompletion
	case "total_tokens":
		return roleTotal
	case "prompt_tokens_details", "completion_tokens_details":
		return roleDetails
	}
	return roleSkip
}

func timingsRole(key []byte) role {
	switch string(key) {
	case "cache_n":
		return roleCacheN
	case "prompt_n":
		return rolePromptN
	case "predicted_n":
		return rolePredictedN
	}
	return roleSkip
}

// usage makes a usage of the numbers seen.
func (p *Probe) usage() (Usage, UsageSource) {
	has := func(r role) bool { return p.seen&(1<<r) != 0 }
	switch {
	case p.counted && (has(rolePrompt) || has(roleCompletion)):
		u := Usage{CachedKnown: has(roleCached)}
		u.PromptTokens, u.CompletionTokens = p.number(rolePrompt), p.number(roleCompletion)
		u.CachedTokens, u.ReasoningTokens = p.number(roleCached), p.number(roleReasoning)
		u.TotalTokens = u.PromptTokens + u.CompletionTokens
		if has(roleTotal) {
			u.TotalTokens = p.number(roleTotal)
		}
		return u, UsageReported
	case has(rolePromptN) && has(rolePredictedN):
		cached := p.number(roleCacheN)
		u := Usage{PromptTokens: cached + p.number(rolePromptN), CompletionTokens: p.number(rolePredictedN), CachedTokens: cached, CachedKnown: has(roleCacheN)}
		u.TotalTokens = u.PromptTokens + u.CompletionTokens
		return u, UsageTimings
	}
	return Usage{}, UsageUnknown
}

// perChoice reports whether the usage is one choice's alone. llama-server counts so: beside each usage stand the timings
// of the same choice, with the same number of tokens made. Others sum up over all choices.
func (p *Probe) perChoice() bool {
	const made = 1<<roleCompletion | 1<<rolePredictedN
	return p.counted && p.seen&made == made && p.numbers[roleCompletion] == p.numbers[rolePredictedN]
}

// number gives a number that was seen; 0 for one that was not, which may be left over from an earlier usage.
func (p *Probe) number(r role) int64 {
	if p.seen&(1<<r) == 0 {
		return 0
	}
	return p.numbers[r]
}

// parseTokens reads a count of tokens. What is negative, not whole or absurd is no count: an engine's mistake must not
// become somebody's bill.
func parseTokens(word []byte) (n int64, ok bool) {
	if len(word) == 0 || len(word) > 12 {
		return 0, false
	}
	for _, c := range word {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}
