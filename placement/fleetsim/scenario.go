package fleetsim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
)

// Begin is when every run begins: a Monday at midnight, UTC, so that a span from
// the beginning reads like the time of day.
func Begin() time.Time { return time.Date(2026, time.January, 5, 0, 0, 0, 0, time.UTC) }

// Stream is the second half of every seed, so that a number means the same
// chance for the command and for tests.
const Stream = 7

// Scenario is a fleet, a catalog and what happens to them. It is made by
// [Parse], and read only from then on.
type Scenario struct {
	net    network
	fleet  *inventory.Snapshot
	models []definition
	events []event
	// lines are the text, so that a smaller scenario can be made of some of them.
	lines []line
}

// section is what a line of the text belongs to.
type section string

const (
	inNet    section = "net"
	inFleet  section = "fleet"
	inModels section = "models"
	inTrace  section = "trace"
)

// line is one line of the text that says something.
type line struct {
	in   section
	text string
	at   int // in the file, from 1
	// about is what it names: a node, a model. Empty: nothing by itself.
	about string
}

// Parse reads a scenario. Four words alone on a line begin its parts:
//
//	net      how messages travel: delay=2ms-40ms late=1%:3s loss=0.1% dup=0.1% slow=1%:2s facts=1%
//	fleet    a node a line, and holds, as inventorytest.Parse reads them
//	models   a model a line, and more profiles of the one before:
//	           model chat min=1 max=4 class=critical gpu=2xH100-80 files=w:140
//	           profile small gpu=1xL40S-48 vram=40
//	trace    an event a line: how long after the beginning, what, and to whom:
//	           8h30m  crash rack:r7 for=20m
//
// Empty lines and what follows a # are skipped. The words of models stand at
// modelKeys, those of events at verbs. Complaints are joined, and each begins
// with its line: "line 12: …".
func Parse(text string) (*Scenario, error) {
	lines, bad := split(text)
	s := &Scenario{net: usualNetwork(), lines: lines}
	s.readFleet(text, &bad)
	names := map[catalog.Name]bool{}
	for _, l := range lines {
		var err error
		switch l.in {
		case inNet:
			err = s.net.read(l.text)
		case inModels:
			err = s.readModel(l, names)
		case inTrace:
			err = s.readEvent(l)
		case inFleet:
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("line %d: %w", l.at, err))
		}
	}
	if len(bad) == 0 {
		bad = s.check()
	}
	if len(bad) > 0 {
		return nil, errors.Join(bad...)
	}
	slices.SortStableFunc(s.events, func(a, b event) int { return int(a.after - b.after) })
	return s, nil
}

// split cuts the text into lines by section.
func split(text string) (lines []line, bad []error) {
	var in section
	for i, raw := range strings.Split(text, "\n") {
		said, _, _ := strings.Cut(raw, "#")
		said = strings.TrimSpace(said)
		switch section(said) {
		case "":
			continue
		case inNet, inFleet, inModels, inTrace:
			in = section(said)
			continue
		}
		if in == "" {
			bad = append(bad, fmt.Errorf("line %d: %q stands before any part; begin the parts with net, fleet, models or trace, alone on a line", i+1, said))
			continue
		}
		lines = append(lines, line{in: in, text: said, at: i + 1, about: about(in, said)})
	}
	return lines, bad
}

// about is what the line cannot be without.
func about(in section, text string) string {
	f := strings.Fields(text)
	switch {
	case in == inFleet && f[0] != "hold":
		return f[0]
	case in == inModels && len(f) > 1 && f[0] == "model":
		return f[1]
	}
	return ""
}

// readFleet leaves the lines of other parts empty, so that complaints have the
// numbers of the file.
func (s *Scenario) readFleet(text string, bad *[]error) {
	rows := make([]string, strings.Count(text, "\n")+1)
	for _, l := range s.lines {
		if l.in == inFleet {
			rows[l.at-1] = l.text
		}
	}
	fleet, err := inventorytest.Parse(strings.Join(rows, "\n"))
	switch {
	case err != nil:
		*bad = append(*bad, err)
	case len(fleet.Nodes()) == 0:
		*bad = append(*bad, errors.New("line 1: there is no node; begin a part with fleet, and write a node a line, such as a1 gpu=8xH100-80"))
	default:
		s.fleet = fleet
	}
}

func (s *Scenario) readModel(l line, names map[catalog.Name]bool) error {
	w := parseWords(l.text)
	switch w.arg(0) {
	case "model":
		d, err := readDefinition(w)
		if err == nil && names[d.model.Name] {
			err = fmt.Errorf("model %s stands there twice; give every model its own name, or change it in the trace", d.model.Name)
		}
		if err != nil {
			return err
		}
		names[d.model.Name] = true
		s.models = append(s.models, d)
		return nil
	case "profile":
		if len(s.models) == 0 {
			return errors.New("a profile stands before any model; write its model first")
		}
		return s.models[len(s.models)-1].addProfile(w)
	}
	return fmt.Errorf("%q means nothing here; want model or profile", w.arg(0))
}

// check looks at what only the whole can tell.
func (s *Scenario) check() []error {
	var bad []error
	for _, d := range s.models {
		if err := catalog.Validate(&d.model); err != nil {
			bad = append(bad, fmt.Errorf("line %d: %w", s.lineOf(inModels, string(d.model.Name)), err))
		}
	}
	models := s.named()
	for _, e := range s.events {
		err := e.check(s.fleet)
		if err == nil && e.name != "" && !models[e.name] {
			err = fmt.Errorf("%s: there is no model %q; name one of the part models, or one that an event adds", e.verb, e.name)
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("line %d: %w", e.line, err))
		}
	}
	return bad
}

// named are the models that there are at some time.
func (s *Scenario) named() map[catalog.Name]bool {
	out := map[catalog.Name]bool{}
	for _, d := range s.models {
		out[d.model.Name] = true
	}
	for _, e := range s.events {
		if e.verb == "model" {
			out[e.name] = true
		}
	}
	return out
}

func (s *Scenario) lineOf(in section, about string) int {
	for _, l := range s.lines {
		if l.in == in && l.about == about {
			return l.at
		}
	}
	return 1
}

// String is the scenario as Parse reads it, without comments.
func (s *Scenario) String() string { return join(s.lines) }

func join(lines []line) string {
	var b strings.Builder
	for _, in := range []section{inNet, inFleet, inModels, inTrace} {
		begun := false
		for _, l := range lines {
			if l.in != in {
				continue
			}
			if !begun {
				fmt.Fprintln(&b, in)
				begun = true
			}
			fmt.Fprintln(&b, l.text)
		}
	}
	return b.String()
}

// End is how long after the beginning the last event is.
func (s *Scenario) End() time.Duration {
	if len(s.events) == 0 {
		return 0
	}
	return s.events[len(s.events)-1].after
}
