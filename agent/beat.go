package agent

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// lastBeatLimit is how long the end of an agent waits for its last news.
const lastBeatLimit = 2 * time.Second

// beatLoop says that the node is alive, every few seconds and at once when a
// shard's state changes. It is its own goroutine with its own requests: nothing
// else the agent does may make the node look dead.
func (a *Agent) beatLoop(ctx context.Context) {
	samples := make(chan inventory.Sample, 1)
	a.work.Go(func() { a.sampleLoop(ctx, samples) })
	t := time.NewTicker(a.cfg.Times.Beat)
	defer t.Stop()
	var seq uint64
	var silent error
	for ctx.Err() == nil {
		seq++
		err := a.beat(ctx, seq, samples)
		if ctx.Err() != nil {
			break
		}
		a.noteSilence(&silent, err)
		if err != nil {
			// News do not hurry the beat while nobody answers.
			select {
			case <-ctx.Done():
			case <-t.C:
			}
			continue
		}
		select {
		case <-ctx.Done():
		case <-t.C:
		case <-a.board.changed:
		}
	}
	if silent == nil && !a.cfg.StopEngines {
		a.lastBeat(ctx, seq+1)
	}
}

// lastBeat says what the control plane has not heard yet: with the engines going
// on, nobody would tell it otherwise for as long as no agent runs.
func (a *Agent) lastBeat(ctx context.Context, seq uint64) {
	if news, _ := a.board.news(); len(news) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastBeatLimit)
	defer cancel()
	if err := a.beat(ctx, seq, nil); err != nil {
		a.cfg.Logger.Warn("the last news of engines did not reach the control plane; the next agent brings them", "node", a.cfg.Node, "err", err)
	}
}

// noteSilence logs when the control plane goes away or comes back, and not in
// between.
func (a *Agent) noteSilence(was *error, now error) {
	switch {
	case now != nil && *was == nil:
		a.cfg.Logger.Warn("the control plane does not answer; engines go on", "node", a.cfg.Node, "err", now)
	case now == nil && *was != nil:
		a.cfg.Logger.Info("the control plane answers again", "node", a.cfg.Node)
	}
	*was = now
}

func (a *Agent) beat(ctx context.Context, seq uint64, samples <-chan inventory.Sample) error {
	d := a.ledger.desired()
	_, hash := a.facts.current()
	b := protocol.Beat{
		Node: string(a.cfg.Node), Seq: seq, FactsHash: hash,
		AppliedVersion: d.Version, EpochSeen: d.Epoch,
	}
	var rev uint64
	select {
	case s := <-samples:
		b.Sample = &s
		b.Shards, rev = a.board.measured()
	default:
		b.Shards, rev = a.board.news()
	}
	b.Run, b.Rev = a.run, rev
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Times.Request)
	defer cancel()
	b.At = time.Now()
	ans, err := a.cfg.Control.Beat(ctx, b)
	if err != nil {
		return err
	}
	a.heard()
	a.answered.note(byBeat)
	if hash != "" && ans.Want == "" {
		a.answered.note(byPoll) // one that has brought these facts, and waits for news
	}
	a.board.heard(rev)
	switch ans.Want {
	case protocol.WantFacts, protocol.WantAll:
		a.facts.want()
	}
	return nil
}

// sampleLoop measures apart from the beat, which must not wait for a sensor.
func (a *Agent) sampleLoop(ctx context.Context, out chan inventory.Sample) {
	t := time.NewTicker(a.cfg.Times.Sample)
	defer t.Stop()
	for ctx.Err() == nil {
		s := a.sample(ctx)
		select {
		case <-out: // one that nobody sent is old now
		default:
		}
		select {
		case out <- s:
		case <-ctx.Done():
		}
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
}

// jitter is d, give or take a fifth, so that a fleet does not come back at once.
func jitter(d time.Duration) time.Duration {
	return d*4/5 + rand.N(d*2/5+1)
}

// refusedFor reports whether an error is a refusal with one of the codes.
func refusedFor(err error, codes ...string) bool {
	var e *protocol.Error
	if !errors.As(err, &e) {
		return false
	}
	for _, c := range codes {
		if e.Code == c {
			return true
		}
	}
	return false
}
