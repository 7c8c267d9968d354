package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"llmgw.io/llmgw/agent/protocol"
)

const (
	// maxAsks bounds how many asks are answered at once.
	maxAsks = 8
	// maxAskTime bounds one that has a later deadline.
	maxAskTime = time.Hour
)

// askBook knows which asks were seen: an answer to a poll may come twice.
type askBook struct {
	mu   sync.Mutex
	seen map[string]time.Time // until when it is remembered
	busy int
}

// take reports whether an ask is new and there is room for it.
func (b *askBook) take(id string, now time.Time) (fresh, room bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen == nil {
		b.seen = map[string]time.Time{}
	}
	for k, until := range b.seen {
		if now.After(until) {
			delete(b.seen, k)
		}
	}
	if _, ok := b.seen[id]; ok {
		return false, false
	}
	b.seen[id] = now.Add(maxAskTime)
	if b.busy >= maxAsks {
		return true, false
	}
	b.busy++
	return true, true
}

func (b *askBook) done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy--
}

// answer answers asks, each in its own goroutine.
func (a *Agent) answer(ctx context.Context, asks []protocol.Ask) {
	for _, ask := range asks {
		fresh, room := a.asks.take(ask.ID, time.Now())
		switch {
		case !fresh:
		case !room:
			a.work.Go(func() {
				a.send(ctx, protocol.Answer{ID: ask.ID, Code: protocol.CodeLimited, Error: "this agent answers as many questions as it can; ask again in a moment"}, nil)
			})
		default:
			a.work.Go(func() {
				defer a.asks.done()
				a.answerOne(ctx, ask)
			})
		}
	}
}

func (a *Agent) answerOne(ctx context.Context, ask protocol.Ask) {
	end := time.Now().Add(maxAskTime)
	if !ask.Deadline.IsZero() && ask.Deadline.Before(end) {
		end = ask.Deadline
	}
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	switch ask.Kind {
	case protocol.AskLogs:
		a.answerLogs(ctx, ask)
	case protocol.AskScan:
		a.answerScan(ctx, ask)
	case protocol.AskFabricTest:
		a.answerFabricTest(ctx, ask)
	case protocol.AskCollect:
		a.answerCollect(ctx, ask)
	case protocol.AskUpgrade:
		a.answerUpgrade(ctx, ask)
	default:
		a.refuse(ctx, ask, fmt.Sprintf("this agent does not know the question %q; upgrade it", clip(string(ask.Kind))))
	}
}

// arguments decodes what an ask is about. It has refused the ask when it
// reports false.
func (a *Agent) arguments(ctx context.Context, ask protocol.Ask, into any) bool {
	if len(ask.Args) > 0 {
		if err := json.Unmarshal(ask.Args, into); err != nil {
			a.refuse(ctx, ask, "the arguments cannot be read")
			return false
		}
	}
	return true
}

func (a *Agent) answerLogs(ctx context.Context, ask protocol.Ask) {
	var args protocol.LogsArgs
	if !a.arguments(ctx, ask, &args) {
		return
	}
	log, err := a.openLog(ctx, args)
	if err != nil {
		ans := protocol.Answer{ID: ask.ID, Error: err.Error()}
		if _, none := errors.AsType[noLog](err); none {
			ans.Code = protocol.CodeNoLog
		}
		a.send(ctx, ans, nil)
		return
	}
	defer log.Close()
	a.send(ctx, protocol.Answer{ID: ask.ID, OK: true}, log)
}

func (a *Agent) refuse(ctx context.Context, ask protocol.Ask, why string) {
	a.send(ctx, protocol.Answer{ID: ask.ID, Error: why}, nil)
}

func (a *Agent) send(ctx context.Context, ans protocol.Answer, stream io.Reader) {
	if err := a.cfg.Control.Answer(ctx, ans, stream); err != nil && ctx.Err() == nil {
		a.cfg.Logger.Info("an answer was not taken", "ask", ans.ID, "err", err)
	}
}
