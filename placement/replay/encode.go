package replay

import (
	"encoding/json"
	"fmt"
	"time"

	"llmgw.io/llmgw/catalog"
)

// Encoder turns passes into entries, one after the other. The zero value is ready,
// and begins with a base.
type Encoder struct {
	// Redact returns a JSON text without the secrets that are in it under their
	// names, as storage.Redact does. Nil: only the keys of endpoints and of other
	// providers are left out.
	Redact func(text string) string

	last   *state // nil: the next entry is a base
	n      int
	baseAt time.Time
}

// Reset makes the next entry a base, as after an entry that was lost.
func (e *Encoder) Reset() { e.last = nil }

// Encode writes a pass down. It answers false where there is nothing to write: a
// pass that decided nothing, on what decisions saw before. An error leaves the
// pass out, and makes the next entry a base.
func (e *Encoder) Encode(p Pass) (Entry, bool, error) {
	is := stateOf(&p)
	base := e.last == nil
	was := state{}
	if !base {
		was = *e.last
	}
	f, changed := formOf(&was, &is)
	if !base && !changed && !acted(&p) {
		return Entry{}, false, nil
	}
	if !base && (e.n+1 >= MaxChange || p.World.Now.Sub(e.baseAt) >= BaseEvery) {
		base, was = true, state{}
		f, _ = formOf(&was, &is)
	}
	is.traffic = trafficOf(&p)
	f.Traffic = was.traffic.to(is.traffic)
	data, err := e.encode(&p, f, base)
	if err != nil {
		e.Reset()
		return Entry{}, false, fmt.Errorf("replay: write a pass down: %w", err)
	}
	if base {
		e.n, e.baseAt = 0, p.World.Now
	} else {
		e.n++
	}
	if p.Outcome == Kept {
		is.replicas = carried(is.replicas, p.Plan.Actions)
	}
	e.last = &is
	return Entry{At: p.World.Now, Epoch: p.Epoch, Base: base, Data: data}, true, nil
}

// acted reports whether anything was decided.
func acted(p *Pass) bool {
	return len(p.Plan.Actions)+len(p.Plan.Events)+p.Plan.OrdersDone+len(p.World.Orders)+p.Missed > 0 || p.Outcome != Kept ||
		memoryBetween(p.Memory, p.After, catalog.NewIndex(0, nil)) != nil
}

// formOf is what turns one state into another but for requests, and whether
// anything does.
func formOf(was, is *state) (form, bool) {
	var f form
	var fleet bool
	f.Fleet, fleet = fleetBetween(was.fleet, is.fleet)
	f.Catalog = catalogBetween(was.catalog, is.catalog)
	f.Replicas = replicasBetween(was.replicas, is.replicas)
	f.Memory = memoryBetween(was.memory, is.memory, is.catalog)
	return f, fleet || f.Catalog != nil || f.Replicas != nil || f.Memory != nil
}

func (e *Encoder) encode(p *Pass, f form, base bool) ([]byte, error) {
	f.V, f.Epoch, f.Now, f.Outcome, f.Orders, f.Missed = version, p.Epoch, p.World.Now, p.Outcome, p.World.Orders, p.Missed
	f.Moves = p.Moves
	if !base {
		f.N = e.n + 1
	}
	var err error
	if f.Decided, err = decided(&p.Plan, p.After); err != nil {
		return nil, err
	}
	if err := e.hide(&f); err != nil {
		return nil, err
	}
	return json.Marshal(&f)
}
