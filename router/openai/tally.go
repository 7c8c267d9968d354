package openai

import "math/bits"

// Tally sums up the events of one stream. The zero value is ready.
type Tally struct {
	// Usage is the last one that was reported, since some engines count along on every event. See Total where there may
	// be several choices.
	Usage  Usage
	Source UsageSource
	// ContentEvents is the number of events with content: a lower bound for the tokens where the engine counted none.
	ContentEvents int64
	// FinishReason is the last one seen.
	FinishReason string
	// Ended has a bit for each choice that came to its end; see Facts.
	Ended uint64
	// Done is true when the end mark came, and Failed when an error did.
	Done, Failed bool

	since  int64 // events with content that came after the usage
	parts  int   // usages that were one choice's alone
	sum    Usage // of those
	scaled int   // the usage is one of so many choices that were not counted apart; 0: it is of them all
	like   likeness
}

// TallyOf makes the tally of an answer that is no stream. guess is how many tokens its text may have.
func TallyOf(f Facts, guess int64) *Tally {
	t := &Tally{Usage: f.Usage, Source: f.Source, FinishReason: f.FinishReason, Ended: f.Ended, Failed: f.Failed}
	if f.Content {
		t.ContentEvents = guess
	}
	if f.PerChoice {
		t.scaled = f.Choices
	}
	return t
}

// Add counts one event and gives its facts. What follows the end mark is part of no answer, and counts for nothing.
func (t *Tally) Add(ev *Event) Facts {
	if ev.Kind == KindDone {
		t.Done = true
		return Facts{Choices: -1}
	}
	f, known := t.like.facts(ev)
	if !known {
		f = ev.Facts()
		t.like.learn(ev, f)
	}
	if t.Done {
		f.Failed = false
		return f
	}
	if f.Content {
		t.ContentEvents++
		t.since++
	}
	if f.Source != UsageUnknown && f.Source >= t.Source {
		t.Usage, t.Source, t.since = f.Usage, f.Source, 0
		t.part(&f)
	}
	if f.FinishReason != "" {
		t.FinishReason = f.FinishReason
	}
	t.Ended |= f.Ended
	t.Failed = t.Failed || f.Failed
	return f
}

// Learnt reports whether events were seen of which the next one is likely to differ in one text only.
func (t *Tally) Learnt() bool { return t.like.learnt > 0 }

// part adds a usage that is one choice's alone. An engine that counts so sends one for each choice at its end.
func (t *Tally) part(f *Facts) {
	if !f.PerChoice || f.Source != UsageReported || f.Ended == 0 && !f.UsageOnly() {
		return
	}
	t.parts++
	t.sum.PromptTokens += f.Usage.PromptTokens
	t.sum.CompletionTokens += f.Usage.CompletionTokens
	t.sum.CachedTokens += f.Usage.CachedTokens
	t.sum.ReasoningTokens += f.Usage.ReasoningTokens
}

// Total gives the usage of all choices together, and whether the engine counted all of it. perPrompt is how many choices
// each prompt was to have: a prompt counts once, however many choices report it. What came after the last usage is
// added as one token an event, the least it can be. A number that is zero although it cannot be was not counted.
func (t *Tally) Total(perPrompt int) (u Usage, counted bool) {
	if t.Source == UsageUnknown {
		return Usage{CompletionTokens: t.ContentEvents, TotalTokens: t.ContentEvents}, false
	}
	u, counted = t.Usage, t.since == 0 && t.scaled < 2
	if t.parts > 1 {
		u = t.sum
		u.CachedKnown = t.Usage.CachedKnown
		u.share(max(1, min(perPrompt, t.parts)))
	}
	if n := int64(t.scaled); n > 1 {
		u.PromptTokens, u.CachedTokens, u.CompletionTokens = n*u.PromptTokens, n*u.CachedTokens, n*u.CompletionTokens
		u.share(max(1, min(perPrompt, t.scaled)))
	}
	u.CompletionTokens += t.since
	if u.CompletionTokens == 0 && t.ContentEvents > 0 {
		u.CompletionTokens, counted = t.ContentEvents, false
	}
	if !counted || t.parts > 1 {
		u.TotalTokens = u.PromptTokens + u.CompletionTokens
	}
	return u, counted && u.PromptTokens > 0
}

// share counts a prompt once that so many choices have reported.
func (u *Usage) share(choices int) {
	u.PromptTokens /= int64(choices)
	u.CachedTokens /= int64(choices)
}

// Whole reports whether so many choices have come to their end: an answer without an end mark is whole then, and only
// then.
func (t *Tally) Whole(choices int) bool {
	return bits.OnesCount64(t.Ended) >= max(1, min(choices, 64))
}
