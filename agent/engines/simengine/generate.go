package simengine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"llmgw.io/llmgw/router/openai"
)

// errOver means that the answer has ended and nothing follows it.
var errOver = errors.New("simengine: the answer is over")

func (e *Engine) chat(w http.ResponseWriter, r *http.Request) { e.text(w, r, openai.Chat) }

func (e *Engine) completions(w http.ResponseWriter, r *http.Request) {
	e.text(w, r, openai.Completions)
}

// text answers a request for text.
func (e *Engine) text(w http.ResponseWriter, r *http.Request, at openai.Endpoint) {
	req, b, bad := e.read(w, r, at)
	if bad == nil {
		bad = ordered(r)
	}
	var j *job
	if bad == nil {
		j, bad = e.understand(at, req, b)
	}
	if bad == nil {
		bad = j.fail.atOnce(req.Model, j.temper)
	}
	if bad != nil {
		bad.write(w)
		return
	}
	e.inSlot(w, r, func(ctx context.Context) error {
		defer e.cache.hold(j.promptTokens())()
		out := e.writerFor(w, j)
		if err := e.generate(ctx, j, out); err != nil {
			return err
		}
		e.stats.finish(j)
		out.end(j)
		return nil
	})
}

// ordered gives the fault that a client asked for by name.
func ordered(r *http.Request) *fault {
	status, err := strconv.Atoi(r.Header.Get("X-Return-Error"))
	if err != nil || status < 400 || status > 599 {
		return nil
	}
	return &fault{status, "SimulatedError", fmt.Sprintf("The client asked for status %d", status)}
}

// inSlot runs do in a slot, with a context that ends when the client leaves or the engine stops. When do fails, the
// connection is cut; the slot is free by then.
func (e *Engine) inSlot(w http.ResponseWriter, r *http.Request, do func(ctx context.Context) error) {
	f, ok := e.takeOff(r.Context())
	if !ok {
		stopping.write(w)
		return
	}
	defer e.land(f)
	err := e.slots.take(f.ctx)
	if errors.Is(err, errQueueFull) {
		queueFull.write(w)
		return
	}
	if err == nil {
		err = func() error {
			defer e.slots.free()
			return do(f.ctx)
		}()
	}
	if err == nil || errors.Is(err, errOver) {
		return
	}
	e.stats.abort()
	if errors.Is(err, errFrozen) {
		select {
		case <-r.Context().Done():
		case <-e.exited:
		}
	}
	panic(http.ErrAbortHandler)
}

// generate spends the time that a job takes and gives its tokens to out as they come. Choices grow side by side.
func (e *Engine) generate(ctx context.Context, j *job, out *writer) error {
	began := time.Now()
	for _, p := range j.prompts {
		j.cached += e.cache.admit(j.req.Model, p)
	}
	e.stats.prompt(j.promptTokens(), j.cached)
	if j.fail == FailHang {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	t := j.temper
	fresh := time.Duration(j.promptTokens() - j.cached)
	if !pause(ctx, time.Duration(t.TimeToFirstToken)+fresh*time.Duration(t.PrefillTimePerToken)) {
		return context.Cause(ctx)
	}
	e.stats.firstToken(time.Since(began))
	out.begin(j)
	for n, more := 0, true; more; n++ {
		if n > 0 && !pause(ctx, time.Duration(t.InterTokenLatency)) {
			return context.Cause(ctx)
		}
		if n == min(t.FailAfter, j.longest()-1) {
			if err := e.strike(j, out); err != nil {
				return err
			}
		}
		more = e.tick(j, out, n)
	}
	return nil
}

// tick makes token n of every choice, and reports whether any goes on.
func (e *Engine) tick(j *job, out *writer, n int) (more bool) {
	made := 0
	for i, c := range j.choices {
		if n >= len(c.steps) {
			continue
		}
		made++
		out.step(i, c.steps[n])
		if n == len(c.steps)-1 {
			out.finish(i, c.reason)
		} else {
			more = true
		}
	}
	e.stats.generated(made)
	out.flush()
	return more
}

// strike is the failure in the middle of an answer.
func (e *Engine) strike(j *job, out *writer) error {
	switch j.fail {
	case FailCut:
		out.cut(j)
		return errAborted
	case FailDie:
		out.cut(j)
		e.exit(j.temper.DieExit)
		return errAborted
	case FailInBand:
		e.stats.abort()
		out.fault(inBand)
		return errOver
	}
	return nil
}
