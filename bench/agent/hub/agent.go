package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// agent plays one: it beats, measures, polls and reports at the times that agents
// have, over a connection of its own.
type agent struct {
	fleet *fleet
	index int
	node  string
	http  *http.Client

	mu      sync.Mutex
	rev     uint64
	have    protocol.Desired
	shards  []inventory.ShardStatus
	hash    string
	wanted  bool
	sentAt  time.Time // when facts were
	changed int64     // the newest change that was seen
}

// run plays until ctx ends.
func (a *agent) run(ctx context.Context) {
	pause(ctx, rand.N(protocol.BeatEvery)) // a fleet does not beat at once
	var both sync.WaitGroup
	met := make(chan struct{}) // one connection is enough for both
	both.Go(func() { a.beats(ctx, met) })
	<-met
	a.polls(ctx)
	both.Wait()
}

func (a *agent) beats(ctx context.Context, met chan<- struct{}) {
	t := time.NewTicker(protocol.BeatEvery)
	defer t.Stop()
	for seq := 1; ctx.Err() == nil; seq++ {
		var ans protocol.BeatAnswer
		size, err := a.post(ctx, protocol.PathBeat, a.beat(seq), &ans)
		if ctx.Err() == nil {
			a.fleet.beaten(err, size, seq)
		}
		if seq == 1 {
			close(met)
		}
		if ans.Want != protocol.WantNothing {
			a.mu.Lock()
			a.wanted = true
			a.mu.Unlock()
		}
		select {
		case <-ctx.Done():
		case <-t.C:
		}
	}
}

// measuresEvery is how many beats it is from one that brings a measurement to
// the next.
const measuresEvery = int(protocol.SampleEvery / protocol.BeatEvery)

func (a *agent) beat(seq int) protocol.Beat {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rev++
	b := protocol.Beat{
		Node: a.node, Seq: uint64(seq), Run: a.fleet.run, Rev: a.rev, At: time.Now(), FactsHash: a.hash,
		AppliedVersion: a.have.Version, EpochSeen: a.have.Epoch,
	}
	if (seq+a.index)%measuresEvery == 0 {
		b.Sample = measured(seq)
		for _, s := range a.shards {
			s.Use = &inventory.ShardUse{CPUCores: 3.5, MemoryBytes: 90 << 30, Running: 12, Waiting: 1}
			b.Shards = append(b.Shards, s)
		}
	}
	return b
}

func (a *agent) polls(ctx context.Context) {
	for ctx.Err() == nil {
		in := a.sync()
		var d protocol.Desired
		_, err := a.post(ctx, protocol.PathSync, in, &d)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			a.fleet.failed(fmt.Errorf("a poll of %s: %w", a.node, err))
			pause(ctx, time.Second)
			continue
		}
		a.take(in, d)
	}
}

func (a *agent) sync() protocol.Sync {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rev++
	in := protocol.Sync{
		Node: a.node, Run: a.fleet.run, Rev: a.rev, Version: a.have.Version, Epoch: a.have.Epoch,
		Shards: append([]inventory.ShardStatus{}, a.shards...),
	}
	if a.wanted || a.hash == "" || time.Since(a.sentAt) >= protocol.FactsEvery {
		f := facts(a.index)
		in.Facts, a.hash, a.wanted = &f, protocol.Hash(f), false
	}
	in.FactsHash = a.hash
	return in
}

// take works to what is desired: everything runs at once.
func (a *agent) take(in protocol.Sync, d protocol.Desired) {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if in.Facts != nil {
		a.sentAt = now
	}
	if d.Version == a.have.Version && d.Epoch == a.have.Epoch {
		return
	}
	first := a.have.Version == 0
	a.have = d
	a.shards = nil
	for i := range d.Shards {
		s := &d.Shards[i]
		a.shards = append(a.shards, runs(s.Shard, string(s.Model), s.Profile, addressOf(a.index).String()+":19000", now))
		for _, arg := range s.Args {
			if v, ok := strings.CutPrefix(arg, changedAt); ok {
				a.changed, _ = strconv.ParseInt(v, 10, 64) // it was written by us
			}
		}
	}
	if first {
		a.fleet.came()
		return
	}
	a.fleet.reached(now.Sub(time.Unix(0, a.changed)))
}

// post sends a body and reads the answer; size is the body's.
func (a *agent) post(ctx context.Context, path string, in, out any) (size int, err error) {
	b, err := json.Marshal(in)
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.fleet.url+path, &pieces{b})
	if err != nil {
		return 0, err
	}
	req.ContentLength = int64(len(b))
	req.Header.Set("Content-Type", "application/json")
	res, err := a.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	if res.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("answered %s: %.200s", res.Status, data)
	}
	return len(b), json.Unmarshal(data, out)
}

// pieces is a body of which little is read at once, as agents send theirs.
type pieces struct{ left []byte }

// Read gives the next piece.
func (p *pieces) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), 2<<10)], p.left)
	p.left = p.left[n:]
	return n, nil
}
