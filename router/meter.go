package router

import (
	"log/slog"
	"math"
	"math/bits"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router/openai"
	"llmgw.io/llmgw/storage"
)

// bytesPerToken is the guess for texts that no engine has counted.
const bytesPerToken = 4

// use puts what an answer cost into the row. whole tells that it was answered to
// its end. What the engine did not count is estimated, and the row says so; it
// is never taken for nothing.
func (x *exchange) use(t *openai.Tally, whole bool) {
	if x.settled {
		return
	}
	u, counted := t.Total(x.asked.N)
	if t.Source != openai.UsageUnknown {
		x.found.PromptTokens = u.PromptTokens
		if u.CachedKnown {
			x.found.CachedTokens = u.CachedTokens
		}
	}
	if u.PromptTokens == 0 {
		u.PromptTokens = x.promptEstimate()
	}
	x.row.PromptTokens, x.row.CachedTokens = u.PromptTokens, u.CachedTokens
	x.row.CompletionTokens, x.row.Estimated = u.CompletionTokens, !counted
	x.row.CostMicros = cost(x.price, &x.row, whole)
}

func (x *exchange) promptEstimate() int64 {
	if x.asked.InputTokens > 0 {
		return int64(x.asked.InputTokens)
	}
	for _, f := range [...]openai.Field{openai.FieldMessages, openai.FieldPrompt, openai.FieldInput} {
		if span, ok := x.asked.Value(f); ok {
			return int64(max(1, (span.End-span.Start)/bytesPerToken))
		}
	}
	return 1
}

// cost is what a request costs in micros, rounded up: tokens at their price, and
// the price of a request where it was answered. Cached tokens without a price of
// their own cost what others do.
func cost(p *catalog.Price, row *storage.Request, whole bool) int64 {
	if p == nil {
		return 0
	}
	cached := min(row.CachedTokens, row.PromptTokens)
	cachedPrice := p.CachedInput
	if cachedPrice == 0 {
		cachedPrice = p.Input
	}
	var sum bits128
	sum.add(row.PromptTokens-cached, p.Input)
	sum.add(cached, cachedPrice)
	sum.add(row.CompletionTokens, p.Output)
	micros := sum.perMillion()
	if whole && p.Request > 0 {
		micros = min(micros, math.MaxInt64-p.Request) + p.Request
	}
	return micros
}

// bits128 sums products that would not fit into 64 bits.
type bits128 struct{ hi, lo uint64 }

func (b *bits128) add(n, price int64) {
	if n <= 0 || price <= 0 {
		return
	}
	hi, lo := bits.Mul64(uint64(n), uint64(price))
	var carry uint64
	b.lo, carry = bits.Add64(b.lo, lo, 0)
	b.hi, _ = bits.Add64(b.hi, hi, carry)
}

func (b *bits128) perMillion() int64 {
	const million = 1_000_000
	if b.hi >= million {
		return math.MaxInt64
	}
	n, rest := bits.Div64(b.hi, b.lo, million)
	if rest > 0 && n < math.MaxUint64 {
		n++
	}
	return int64(min(n, math.MaxInt64))
}

// settle writes the row, once.
func (x *exchange) settle(why string) {
	if x.settled {
		return
	}
	x.settled = true
	row := &x.row
	row.Latency = time.Since(x.start)
	row.Stream = x.streams()
	row.Model = within(hideKeys(x.asked.Model), catalog.MaxName)
	row.EndUser = within(hideKeys(x.asked.User), 256)
	if x.key != nil {
		row.KeyID, row.UserID, row.ProjectID = x.key.ID, x.key.User, x.key.Project
	}
	if row.ProjectID == "" {
		row.ProjectID = storage.DefaultProject
	}
	if !x.stranger {
		x.r.ledger.record(row)
	}
	x.r.seen.request(x.req.Context(), row)
	if x.r.cfg.AccessLog {
		x.log(why)
	}
}

func (x *exchange) log(why string) {
	row := &x.row
	x.r.log.LogAttrs(x.req.Context(), slog.LevelInfo, "request",
		slog.String("request_id", row.ID), slog.String("endpoint", row.Endpoint), slog.String("model", row.Model),
		slog.String("replica", row.Replica), slog.String("actor", row.KeyID), slog.String("address", x.addr.String()),
		slog.Int("status", row.Status), slog.String("outcome", string(row.Outcome)), slog.String("why", why),
		slog.Duration("latency", row.Latency), slog.Duration("queued", row.Queued), slog.Duration("ttft", row.FirstByte),
		slog.Int64("prompt_tokens", row.PromptTokens), slog.Int64("completion_tokens", row.CompletionTokens),
		slog.Int("attempts", len(row.Attempts)))
}

// within cuts a text that a client sent.
func within(s string, most int) string {
	if len(s) > most {
		s = s[:most]
	}
	return storage.CleanText(s)
}

// name is what the client asked for.
func (x *exchange) name() catalog.Name { return catalog.Name(x.asked.Model) }
