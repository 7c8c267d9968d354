package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/placement/reconciler"
)

var (
	// ErrForm says that an entry cannot be read: it is no entry, or was written by
	// a later version.
	ErrForm = errors.New("replay: the entry cannot be read")
	// ErrGap says that an entry is a change of one that was not read. Go on with the
	// next base.
	ErrGap = errors.New("replay: the entry before this one is missing")
)

// Decoder turns entries into passes, one after the other. The zero value is ready.
type Decoder struct {
	last *state // nil: only a base can be read
	n    int
}

// Decoded is a pass as it was written down: what to give to Step, and what came of
// it.
type Decoded struct {
	Epoch   int64
	World   reconciler.World
	Memory  reconciler.Memory
	Outcome Outcome
	// Moves was the reconciler's setting.
	Moves float64
	// Missed is how many passes before it were not written down.
	Missed int

	decided decidedForm
}

// Decode reads an entry. Its errors match ErrForm or ErrGap; entries up to the
// next base answer ErrGap then.
func (d *Decoder) Decode(data []byte) (Decoded, error) {
	var f form
	if err := json.Unmarshal(data, &f); err != nil {
		d.last = nil
		return Decoded{}, fmt.Errorf("%w: %w", ErrForm, err)
	}
	switch {
	case f.V > version:
		d.last = nil
		return Decoded{}, fmt.Errorf("%w: it is of form %d, and this program knows forms up to %d; use a newer one", ErrForm, f.V, version)
	case f.V < 1 || f.N < 0:
		d.last = nil
		return Decoded{}, fmt.Errorf("%w: it says neither its form nor its place", ErrForm)
	case f.N > 0 && (d.last == nil || f.N != d.n+1):
		d.last = nil
		return Decoded{}, ErrGap
	case f.N == 0:
		d.last = &state{}
	}
	d.n = f.N
	is := f.onto(d.last)
	out := Decoded{
		Epoch: f.Epoch, World: is.world(f.Now, f.Orders), Memory: is.memory, Outcome: f.Outcome, Missed: f.Missed, Moves: f.Moves, decided: f.Decided,
	}
	if f.Outcome == Kept {
		is.replicas = carried(is.replicas, f.Decided.actions())
	}
	d.last = &is
	return out, nil
}

func (f *form) onto(was *state) state {
	is := *was
	is.fleet = f.Fleet.onto(was.fleet)
	if f.Catalog != nil {
		is.catalog = f.Catalog.onto(was.catalog)
	}
	if f.Replicas != nil {
		is.replicas = f.Replicas.onto(was.replicas)
	}
	if is.catalog == nil {
		is.catalog = catalog.NewIndex(0, nil)
	}
	if f.Memory != nil {
		is.memory = f.Memory.onto(was.memory, is.catalog)
	}
	is.traffic = f.Traffic.onto(was.traffic)
	return is
}

// actions are those that were decided, as far as they were written down.
func (f *decidedForm) actions() []reconciler.Action {
	out := make([]reconciler.Action, 0, len(f.Actions))
	for _, a := range f.Actions {
		r := reconciler.Replica{ID: a.ID, Model: a.Model}
		if a.Replica != nil {
			r = reconciler.Replica(*a.Replica)
		}
		out = append(out, reconciler.Action{Kind: a.Kind, Replica: r, Why: a.Why})
	}
	return out
}

// At is when it was decided.
func (d *Decoded) At() time.Time { return d.World.Now }
