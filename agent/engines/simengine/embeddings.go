package simengine

import (
	"context"
	"math"
	"net/http"
	"time"

	"llmgw.io/llmgw/router/openai"
)

// embeddings answers with vectors made of the inputs' tokens, so that texts with the same words lie near each other.
func (e *Engine) embeddings(w http.ResponseWriter, r *http.Request) {
	req, b, bad := e.read(w, r, openai.Embeddings)
	if bad == nil {
		bad = ordered(r)
	}
	t := e.Temper()
	fail := e.drawFailure(t)
	if bad == nil {
		bad = fail.atOnce(req.Model, t)
	}
	inputs, ok := prompts(b.Input)
	if bad == nil && !ok {
		bad = badRequest("The input must be a text, a list of texts, or token ids")
	}
	total := 0
	for _, in := range inputs {
		if total += len(in); bad == nil && len(in) > t.MaxModelLen {
			bad = tooLong(t.MaxModelLen, len(in), 0)
		}
	}
	if bad != nil {
		bad.write(w)
		return
	}
	e.inSlot(w, r, func(ctx context.Context) error {
		if err := e.embed(ctx, total, fail); err != nil {
			return err
		}
		vectors := make([][]float32, len(inputs))
		for i, in := range inputs {
			vectors[i] = vector(in, t.EmbeddingSize)
		}
		out := openai.Writer{Model: req.Model}
		writeJSON(w, http.StatusOK, out.Embeddings(nil, vectors, b.EncodingFormat == "base64", int64(total)))
		e.stats.embedded()
		return nil
	})
}

// embed spends the time that an embedding takes.
func (e *Engine) embed(ctx context.Context, tokens int, fail Failure) error {
	e.stats.prompt(tokens, 0)
	t := e.Temper()
	switch fail {
	case FailHang:
		<-ctx.Done()
		return context.Cause(ctx)
	case FailDie:
		e.exit(t.DieExit)
		return errAborted
	case FailCut, FailInBand:
		return errAborted
	}
	if !pause(ctx, time.Duration(t.TimeToFirstToken)+time.Duration(tokens)*time.Duration(t.PrefillTimePerToken)) {
		return context.Cause(ctx)
	}
	return nil
}

// vector counts tokens by their hash and has length 1.
func vector(tokens []string, size int) []float32 {
	v := make([]float32, size)
	var sum float64
	for _, token := range tokens {
		v[tokenID(token)%size]++
	}
	for _, f := range v {
		sum += float64(f) * float64(f)
	}
	if sum == 0 {
		v[0], sum = 1, 1
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}
