package router

import (
	"slices"
	"strings"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router/openai"
)

// goal is what a request is sent to: a model under one of its names.
type goal struct {
	entry *catalog.Entry
	// name is what was asked for: the model's own name, an alias or an adapter.
	name catalog.Name
}

func (g goal) model() catalog.Name { return g.entry.Model.Name }

// adapter returns the adapter asked for; empty when it is the model itself.
func (g goal) adapter() catalog.Name {
	if isAdapter(&g.entry.Model, g.name) {
		return g.name
	}
	return ""
}

// billed is the name that rows are summed under: the model's own, or its
// adapter's.
func (g goal) billed() catalog.Name {
	if a := g.adapter(); a != "" {
		return a
	}
	return g.model()
}

// served is the name that the engine answers under, and the place of the adapter
// where it takes that instead of a name. Zero: none.
func (g goal) served(b *Backend) (name string, place int) {
	a := g.adapter()
	if a != "" && b.ByPlace {
		place = slices.Index(b.Adapters, a) + 1
	}
	switch {
	case a != "" && place == 0:
		return string(a), 0
	case b.Model != "":
		return b.Model, place
	}
	return string(g.model()), place
}

const (
	recheck    = 5 * time.Second // a definition may have changed, of which no channel tells
	afterQueue = 10 * time.Second
	afterCold  = 5 * time.Second
	crowdWait  = time.Minute // for a place where all replicas have what they take at once
)

// await returns a replica for the request, now or when one is ready.
func (x *exchange) await(g *goal, d *demand) (*Backend, *failure) {
	b, f := x.look(*g, d)
	if b != nil {
		return b, nil
	}
	if full := x.allFull(*g); full != nil {
		return nil, full
	}
	if f != nil {
		return nil, f
	}
	if d.waiting.Add(1) > int64(x.r.cfg.Limits.Queue) {
		d.waiting.Add(-1)
		return nil, full("queue_full", "Too many requests wait for the model "+quote(g.name)+" already; try again in a moment.", afterQueue)
	}
	defer d.waiting.Add(-1)
	if x.r.cfg.Demand != nil {
		x.r.cfg.Demand.Asked(g.model())
	}
	from := time.Now()
	defer func() { x.row.Queued += time.Since(from) }()
	return x.wait(g, d, from.Add(x.r.cfg.Limits.ColdWait))
}

// look chooses a replica, or says why waiting for one makes no sense. What is
// hopeless is asked first: a replica that comes between the two is seen.
func (x *exchange) look(g goal, d *demand) (*Backend, *failure) {
	f := x.hopeless(g)
	b := x.pick(g, d)
	if b != nil || x.place.crowded {
		return b, nil
	}
	return nil, f
}

// wait looks again at every change until there is a replica or no hope.
func (x *exchange) wait(g *goal, d *demand, until time.Time) (b *Backend, f *failure) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	x.place.may = true
	defer func() {
		x.leaveLine(&d.steering, b != nil)
		x.place.may = false
	}()
	crowd := time.Now().Add(crowdWait)
	for {
		ours, theirs := x.r.changed(), x.r.statics.changed()
		if b, f = x.look(*g, d); b != nil {
			return b, nil
		}
		if x.place.called { // there is nothing left to stand in line for
			x.leaveLine(&d.steering, false)
		}
		if f != nil {
			return nil, f
		}
		left := time.Until(until)
		if x.place.crowded {
			left = min(left, time.Until(crowd))
		}
		if left <= 0 {
			return nil, x.notReady(*g)
		}
		if x.streams() {
			left = min(left, x.beat(time.Now()))
		}
		timer.Reset(min(left, recheck))
		select {
		case <-x.req.Context().Done():
			return nil, gone()
		case <-ours:
		case <-theirs:
		case <-timer.C:
		case x.place.more = <-x.place.in:
			x.place.called = true
		}
		entry, ok := x.r.cfg.Models.Index().Resolve(g.name)
		if !ok {
			return nil, noSuchModel(g.name)
		}
		g.entry = entry
	}
}

// allFull says when to come again where every replica has said when it takes
// something again; nil where not all have.
func (x *exchange) allFull(g goal) *failure {
	if x.full.IsZero() {
		return nil
	}
	f := full("all_full", "Every replica of the model "+quote(g.name)+" is full for now; try again after the time in Retry-After.", time.Until(x.full))
	f.retryAfter = min(max(f.retryAfter, time.Second), maxRetryAfter)
	return f
}

// hopeless says why waiting for a model makes no sense; nil while it does.
func (x *exchange) hopeless(g goal) *failure {
	m := &g.entry.Model
	if m.External != nil && len(m.Profiles) == 0 {
		return full("model_unavailable", "The model "+quote(g.name)+" is served by another provider, which this router cannot ask.", maxRetryAfter)
	}
	managed := slices.ContainsFunc(m.Profiles, func(p catalog.Profile) bool { return p.Managed() })
	if _, most := m.Bounds(); managed && most == 0 {
		return full("model_off", "The model "+quote(g.name)+" is switched off: it may have no replicas. Ask the operator to raise scaling.max.", maxRetryAfter)
	}
	if !managed && !x.r.statics.unknown(m.Name) && !x.r.listed(m.Name) {
		return full("model_unavailable", "No endpoint of the model "+quote(g.name)+" answers right now; try again in a moment.", afterCold)
	}
	if x.r.cfg.Prospects == nil || !managed {
		return nil
	}
	reason, hopeless := x.r.cfg.Prospects.Status(m.Name)
	if !hopeless {
		return nil
	}
	message := "The model " + quote(g.name) + " has no replica and is not being started"
	if reason != "" {
		message += ": " + strings.TrimRight(reason, ".")
	}
	return full("model_unavailable", message+".", afterCold)
}

// notReady is the end of a wait that was in vain.
func (x *exchange) notReady(g goal) *failure {
	if x.place.crowded {
		return full("all_busy", "Every replica of the model "+quote(g.name)+" has as many requests as it takes at once; try again in a moment.", afterQueue)
	}
	return full("model_not_ready", "The model "+quote(g.name)+" did not become ready within "+x.r.cfg.Limits.ColdWait.String()+
		"; try again later, or ask the operator what holds it up.", afterCold)
}

// pick chooses a replica that was not tried yet; nil when there is none. What it
// chose ends with [exchange.over].
func (x *exchange) pick(g goal, d *demand) *Backend {
	list := x.r.backends(g.model())
	x.clear()
	x.place.crowded = false
	now := time.Now()
	adapter := g.adapter()
	for i := range list {
		b := &list[i]
		if b.Draining || slices.Contains(x.tried, b.ID) || adapter != "" && !slices.Contains(b.Adapters, adapter) {
			continue
		}
		p := x.r.replicas.get(b.ID)
		x.choices = append(x.choices, Candidate{LastResort: b.Unreachable})
		x.places = append(x.places, i)
		x.seen.add(b.ID, x.r.heardAt(p))
	}
	x.judge(d, now)
	if len(x.choices) == 0 {
		return nil
	}
	x.read(adapter)
	chosen := x.choose(g, list, d, now)
	if chosen < 0 {
		return nil
	}
	return &list[x.places[chosen]]
}

// backends are the replicas of a model, ours and those that others run.
func (r *Router) backends(model catalog.Name) []Backend {
	static := r.statics.of(model)
	if r.cfg.Backends == nil {
		return static
	}
	ours := r.cfg.Backends.Backends(model)
	switch {
	case len(static) == 0:
		return ours
	case len(ours) == 0:
		return static
	}
	return slices.Concat(ours, static)
}

// listed reports whether anybody but the statics knows a replica of the model.
func (r *Router) listed(model catalog.Name) bool {
	return r.cfg.Backends != nil && len(r.cfg.Backends.Backends(model)) > 0
}

func (r *Router) changed() <-chan struct{} {
	if r.cfg.Backends == nil {
		return nil
	}
	return r.cfg.Backends.Changed()
}

// edits are what a body is changed in on its way to a replica.
func (x *exchange) edits(served string, adapter int) openai.Edits {
	e := openai.Edits{Strip: openai.Steering, IncludeUsage: x.streams() && !x.unwished, Adapter: adapter}
	if served != x.asked.Model {
		e.Model = served
	}
	if x.asked.LimitsDiffer {
		e.Strip |= openai.FieldsOf(openai.FieldMaxTokens)
	}
	return e
}
