package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"time"

	"llmgw.io/llmgw/router"
	"llmgw.io/llmgw/router/steer"
)

// message is a line of the simulator.
type message struct {
	Op          string   `json:"op"`
	Replicas    int      `json:"replicas"`
	KVTokens    int64    `json:"kv_tokens"`
	BlockTokens int      `json:"block_tokens"`
	Seed        uint64   `json:"seed"`
	ID          int      `json:"id"`
	At          float64  `json:"t_ms"`
	Input       int      `json:"input_tokens"`
	Blocks      []uint64 `json:"blocks"`
}

// fleet is one simulated fleet as a router knows it.
type fleet struct {
	model   *steer.Model
	specs   []steer.Spec
	block   int
	prompt  steer.Prompt
	sent    map[int]*steer.Ticket
	choices []router.Candidate
	dice    *rand.Rand
}

// play answers the simulator until its lines end.
func play(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 8<<20)
	var f *fleet
	for lines.Scan() {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return fmt.Errorf("a line of the simulator is no JSON: %w", err)
		}
		now := time.Unix(0, 0).Add(time.Duration(m.At * float64(time.Millisecond)))
		switch {
		case m.Op == "reset":
			f = newFleet(m)
		case f == nil:
			return fmt.Errorf("the simulator sent %q before its reset", m.Op)
		case m.Op == "route":
			if _, err := fmt.Fprintf(out, "{\"replica\":%d}\n", f.route(now, m)); err != nil {
				return err
			}
		case m.Op == "first_token":
			f.model.Began(now, f.sent[m.ID])
		case m.Op == "done":
			f.model.Done(now, f.sent[m.ID], steer.Found{OK: true, CachedTokens: -1})
			delete(f.sent, m.ID)
		}
	}
	return lines.Err()
}

// newFleet takes a token for a byte, since a trace has tokens and no text.
func newFleet(m message) *fleet {
	f := &fleet{
		model: steer.NewModel(1), block: m.BlockTokens, sent: map[int]*steer.Ticket{},
		choices: make([]router.Candidate, m.Replicas), dice: rand.New(rand.NewPCG(m.Seed, m.Seed)),
	}
	for i := range m.Replicas {
		f.specs = append(f.specs, steer.Spec{ID: strconv.Itoa(i), CacheTokens: m.KVTokens})
	}
	return f
}

// route does what the router does for each request.
func (f *fleet) route(now time.Time, m message) int {
	f.prompt.Reset()
	f.prompt.Bytes = m.Input
	for i, hash := range m.Blocks {
		f.prompt.Blocks = append(f.prompt.Blocks, steer.Block{Hash: hash, End: (i + 1) * f.block})
	}
	f.model.Match(now, &f.prompt)
	for i, s := range f.specs {
		e := f.model.Expect(now, s, "")
		f.choices[i] = router.Candidate{Outstanding: e.Outstanding, Wait: e.Wait, Work: e.Work, Cached: e.Cached, Resident: e.Resident}
	}
	d := f.model.Demand(len(f.specs))
	chosen := router.LeastDelay{}.Pick(f.choices, router.Ask{Dice: f.dice.Uint64(), Rate: d.Rate, Busy: d.Busy, Grain: f.model.Grain()})
	t := f.model.Send(now, f.specs[chosen], steer.Sent{Streams: true})
	f.sent[m.ID] = &t
	return chosen
}
