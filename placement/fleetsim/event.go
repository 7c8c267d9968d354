package fleetsim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// event is one line of the trace.
type event struct {
	after time.Duration
	verb  string
	line  int

	model definition // of verb model
	name  catalog.Name
	// on is what it happens to: a node, a domain such as rack:r7, or a share of
	// the nodes such as 60%, drawn by chance.
	on string
	// word is a state, a mode, or what becomes of the control plane.
	word string
	// span is for how long; zero: for ever, or at once.
	span time.Duration
	// from and until are of holds and loads, after the event and after the
	// beginning.
	from, until time.Duration
	hasFrom     bool
	reason      string
	n           int
	rate        float64 // requests a second
}

// verb is one thing that may happen: how it is written, read and done.
type verb struct {
	form string
	read func(w *words, e *event)
	do   func(s *sim, e *event)
	// heals: what it breaks is whole again once its span is over.
	heals bool
}

// verbs are what may happen. To add one, add it here, and draw it in
// generate_test.go so that the laws are tried on it.
func verbs() map[string]verb {
	return map[string]verb{
		"model":         {form: "model NAME " + modelKeys, read: readEdit, do: (*sim).edit},
		"remove":        {form: "remove MODEL", read: readName, do: (*sim).remove},
		"ask":           {form: "ask MODEL n=3 for=20s", read: readAsk, do: (*sim).ask},
		"load":          {form: "load MODEL rate=0.5 until=12h for=20s", read: readLoad, do: (*sim).load},
		"retry":         {form: "retry MODEL", read: readName, do: (*sim).retry},
		"restart":       {form: "restart MODEL replace|in_place|rollout|rollout_borrow", read: readRestart, do: (*sim).restart},
		"broken":        {form: "broken MODEL for=10m", read: readName, do: (*sim).breakEngines, heals: true},
		"exit":          {form: "exit NODE|DOMAIN|SHARE", read: readOn, do: (*sim).exit},
		"node":          {form: "node NODE|DOMAIN|SHARE ready|cordoned|draining", read: readWish, do: (*sim).wish},
		"forget":        {form: "forget NODE|DOMAIN|SHARE", read: readOn, do: (*sim).forget},
		"crash":         {form: "crash NODE|DOMAIN|SHARE for=10m", read: readOn, do: (*sim).crash, heals: true},
		"agent":         {form: "agent NODE|DOMAIN|SHARE for=30s", read: readOn, do: (*sim).endAgent, heals: true},
		"cut":           {form: "cut NODE|DOMAIN|SHARE for=10m", read: readOn, do: (*sim).cut, heals: true},
		"device":        {form: "device NODE|DOMAIN|SHARE for=10m", read: readOn, do: (*sim).spoilDevice, heals: true},
		"hold":          {form: "hold DOMAIN from=10m until=1h : reason", read: readHold, do: (*sim).hold},
		"unhold":        {form: "unhold DOMAIN", read: readOn, do: (*sim).unhold},
		"brake-release": {form: "brake-release", read: func(*words, *event) {}, do: (*sim).releaseBrake},
		"control":       {form: "control crash|stall|failover for=25s", read: readControl, do: (*sim).upset, heals: true},
		"store":         {form: "store away for=1m", read: readStore, do: (*sim).loseStore, heals: true},
	}
}

// longest is how long after the beginning an event may come: all time up to it is
// run, and a slip of the pen must not run for ever.
const longest = 366 * 24 * time.Hour

func (s *Scenario) readEvent(l line) error {
	after, rest, _ := strings.Cut(l.text, " ")
	d, err := time.ParseDuration(after)
	if err != nil || d < 0 {
		return fmt.Errorf("%q is no span; begin an event with how long after the beginning it comes, such as 8h30m", after)
	}
	if d > longest {
		return fmt.Errorf("%q is beyond the %d hours that a trace may last", after, longest/time.Hour)
	}
	w := parseWords(rest)
	v, ok := verbs()[w.arg(0)]
	if !ok {
		return fmt.Errorf("%q is nothing that can happen; want one of %s", w.arg(0), strings.Join(verbNames(), ", "))
	}
	e := event{after: d, verb: w.arg(0), line: l.at, reason: w.text}
	v.read(w, &e)
	if err := w.done(places(v.form), v.form); err != nil {
		return fmt.Errorf("%s: %w", e.verb, err)
	}
	s.events = append(s.events, e)
	return nil
}

func verbNames() []string {
	var out []string
	for name := range verbs() {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// places is how many words of a form stand by place.
func places(form string) int {
	n := 0
	for _, f := range strings.Fields(form) {
		if f == ":" {
			break
		}
		if !strings.Contains(f, "=") {
			n++
		}
	}
	return n
}

func readEdit(w *words, e *event) {
	d, err := readDefinition(w)
	if err == nil {
		err = catalog.Validate(&d.model)
	}
	if err != nil {
		w.fail("%w", err)
	}
	e.model, e.name = d, d.model.Name
}

func readName(w *words, e *event) {
	e.name, e.span = catalog.Name(w.arg(1)), w.span("for", 0)
	if e.name == "" {
		w.fail("it names no model; want %s", verbs()[e.verb].form)
	}
}

func readAsk(w *words, e *event) {
	e.n = w.num("n", 1)
	readName(w, e)
}

func readLoad(w *words, e *event) {
	v, _ := w.value("rate")
	rate, err := strconv.ParseFloat(v, 64)
	if err != nil || rate <= 0 || rate > 1000 {
		w.fail("rate=%s is no number of requests a second; write one such as rate=0.5", v)
	}
	e.rate, e.until = rate, w.span("until", 0)
	readName(w, e)
}

func readRestart(w *words, e *event) {
	readName(w, e)
	e.word = w.arg(2)
	switch reconciler.RestartMode(e.word) {
	case reconciler.Replace, reconciler.InPlace, reconciler.Rollout, reconciler.RolloutBorrow:
	default:
		w.fail("%q is no way to restart; want replace, in_place, rollout or rollout_borrow", e.word)
	}
}

func readOn(w *words, e *event) {
	e.on, e.span = w.arg(1), w.span("for", 0)
	if e.on == "" {
		w.fail("it names no node; want %s", verbs()[e.verb].form)
	}
}

func readWish(w *words, e *event) {
	readOn(w, e)
	e.word = w.arg(2)
	if _, ok := inventory.WishOf(inventory.NodeState(e.word)); !ok {
		w.fail("%q is nothing to want of a node; want ready, cordoned or draining", e.word)
	}
}

func readHold(w *words, e *event) {
	_, e.hasFrom = w.by["from"]
	e.from, e.until = w.span("from", 0), w.span("until", 0)
	readOn(w, e)
}

func readControl(w *words, e *event) {
	e.word, e.span = w.arg(1), w.span("for", 0)
	switch e.word {
	case "crash", "stall", "failover":
	default:
		w.fail("%q is nothing that befalls a control plane; want crash, stall or failover", e.word)
	}
	if e.span == 0 {
		w.fail("it does not say for how long; write for=25s")
	}
}

func readStore(w *words, e *event) {
	if e.span = w.span("for", 0); w.arg(1) != "away" || e.span == 0 {
		w.fail("want %s", verbs()["store"].form)
	}
}

// check holds what an event names against the fleet.
func (e *event) check(fleet *inventory.Snapshot) error {
	if e.verb == "hold" || e.verb == "unhold" {
		_, err := inventory.ParseDomain(e.on)
		return err
	}
	if e.on == "" {
		return nil
	}
	if _, ok := share(e.on); ok {
		return nil
	}
	if len(named(fleet, e.on)) == 0 {
		return fmt.Errorf("%s: no node is or stands in %q; name a node of the fleet, a domain such as rack:r7, or a share such as 60%%", e.verb, e.on)
	}
	return nil
}

// named are the nodes that a word names, in order: one node, or a domain's.
func named(fleet *inventory.Snapshot, on string) []inventory.NodeID {
	if fleet.Node(inventory.NodeID(on)) != nil {
		return []inventory.NodeID{inventory.NodeID(on)}
	}
	d, err := inventory.ParseDomain(on)
	if err != nil {
		return nil
	}
	var out []inventory.NodeID
	for _, n := range fleet.Nodes() {
		if d.Holds(n) {
			out = append(out, n.ID)
		}
	}
	return out
}
