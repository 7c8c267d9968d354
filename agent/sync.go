package agent

import (
	"context"
	"errors"
	"time"

	"llmgw.io/llmgw/agent/protocol"
)

// maxPollWait bounds the back-off between polls that fail.
const maxPollWait = 30 * time.Second

// syncLoop polls for the desired state, one poll at a time, for ever.
func (a *Agent) syncLoop(ctx context.Context) {
	// Facts first, so that the node is whole when it first appears; but a probe
	// that hangs must not keep it away.
	select {
	case <-a.facts.first:
	case <-time.After(a.cfg.Times.Request):
	case <-ctx.Done():
		return
	}
	wait := time.Second
	var last error
	for ctx.Err() == nil {
		err := a.poll(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil, errors.Is(err, errNewFacts):
			wait, last = time.Second, nil
			continue
		case refusedFor(err, protocol.CodeRevoked, protocol.CodeForbidden):
			wait = maxPollWait
			a.expel(err)
		}
		if last == nil || last.Error() != err.Error() {
			a.cfg.Logger.Warn("poll failed", "node", a.cfg.Node, "err", err)
		}
		last = err
		select {
		case <-ctx.Done():
		case <-time.After(jitter(wait)):
		}
		wait = min(2*wait, maxPollWait)
	}
}

// expel shuts the gates of a node that its cluster has removed: nobody of it may be
// served here any more. Engines go on until somebody stops them, and another
// membership begins with another agent.
func (a *Agent) expel(err error) {
	if !refusedFor(err, protocol.CodeRevoked) || a.expelled.Swap(true) {
		return
	}
	a.cfg.Logger.Error("this node was removed from its cluster: its gates are shut and no router asks its engines any more, which run on until somebody ends them; "+
		"to make it a node again, make a token with `llmgw-control ctl tokens join create`, run `llmgw-agent join --again` with it, and start the agent anew: what is not wanted then is stopped", "node", a.cfg.Node)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.shards {
		notify(s.kick)
	}
}

// errNewFacts gives up a poll for another one that carries facts.
var errNewFacts = errors.New("agent: there are new facts to send")

// poll asks once, and takes what is desired.
func (a *Agent) poll(ctx context.Context) error {
	have := a.ledger.desired()
	facts, hash := a.facts.due(a.cfg.Times.Facts, time.Now())
	shards, rev := a.board.all()
	in := protocol.Sync{
		Node: string(a.cfg.Node), Run: a.run, Rev: rev, Version: have.Version, Epoch: have.Epoch,
		Facts: facts, FactsHash: hash, Shards: shards,
	}
	if facts != nil {
		select {
		case <-a.facts.poll: // these are the facts it asks for
		default:
		}
	}
	d, err := a.ask(ctx, in)
	if err != nil {
		return err
	}
	a.heard()
	a.answered.note(byPoll)
	a.board.heard(rev)
	if facts != nil {
		a.facts.took(hash, time.Now())
	}
	return a.take(ctx, have, d)
}

// factsArrive is how long a poll that carries facts is left alone: given up before they
// have arrived it would have been of no use.
const factsArrive = time.Second

// newer waits for facts that a poll does not carry. It reports false when the poll is
// over before.
func (a *Agent) newer(ctx context.Context, in protocol.Sync) bool {
	if in.Facts != nil {
		select {
		case <-time.After(factsArrive):
		case <-ctx.Done():
			return false
		}
	}
	for {
		select {
		case <-a.facts.poll:
			if _, hash := a.facts.current(); in.Facts == nil || hash != in.FactsHash {
				return true
			}
		case <-ctx.Done():
			return false
		}
	}
}

// ask polls, and gives up when there are facts that should not wait for an
// answer half a minute away.
func (a *Agent) ask(ctx context.Context, in protocol.Sync) (protocol.Desired, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, protocol.PollAfter+a.cfg.Times.Request, errors.New("agent: the poll was not answered in time"))
	defer cancel()
	ctx, give := context.WithCancelCause(ctx)
	defer give(nil)
	go func() {
		if a.newer(ctx, in) {
			give(errNewFacts)
		}
	}()
	d, err := a.cfg.Control.Sync(ctx, in)
	if err != nil && ctx.Err() != nil {
		return d, context.Cause(ctx)
	}
	return d, err
}

// take works to what is desired, unless it is older than what is known: an
// earlier leader may still be speaking.
func (a *Agent) take(ctx context.Context, have, d protocol.Desired) error {
	if d.Epoch < have.Epoch {
		return errors.New("agent: an earlier leader answers; its orders are refused")
	}
	a.answer(ctx, d.Asks)
	if d.Epoch == have.Epoch && d.Version == have.Version {
		a.direct(d) // a shard that was dropped may have come back
		return nil
	}
	if err := a.ledger.setDesired(d); err != nil {
		a.cfg.Logger.Error("the desired state cannot be kept; it is worked to all the same", "err", err)
	}
	a.direct(d)
	return nil
}
