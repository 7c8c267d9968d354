package outlier_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"llmgw.io/llmgw/router/outlier"
)

// TestScripts runs testdata: lines are "<seconds> <replica> <what>", and show
// prints how every replica stands at that second.
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		t.Parallel()
		s := &script{start: time.Unix(1e9, 0)}
		datadriven.RunTest(t, path, s.run)
	})
}

type script struct {
	start time.Time
	g     *outlier.Group
	ids   []string
	out   strings.Builder
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "new":
		s.g, s.ids = outlier.New(outlier.Rules{}, s.start), nil
		for _, a := range d.CmdArgs {
			s.ids = append(s.ids, a.Key)
		}
		return "ok\n"
	case "do":
	default:
		t.Fatalf("%s: no such command", d.Pos)
	}
	s.out.Reset()
	for line := range strings.Lines(d.Input) {
		s.line(t, strings.Fields(line))
	}
	return s.out.String()
}

func (s *script) line(t *testing.T, words []string) {
	at, err := time.ParseDuration(words[0] + "s")
	if err != nil {
		t.Fatal(err)
	}
	now := s.start.Add(at)
	if words[1] == "show" {
		for i, st := range s.g.Standings(nil, s.ids, now) {
			fmt.Fprintf(&s.out, "%s: share %.2f", s.ids[i], st.Share)
			if st.Last {
				fmt.Fprintf(&s.out, ", last, since it %s", st.Why)
			}
			if !st.Full.IsZero() {
				fmt.Fprintf(&s.out, " for %s", st.Full.Sub(now))
			}
			s.out.WriteString("\n")
		}
		return
	}
	id, times := words[1], 1
	if len(words) > 3 && strings.HasPrefix(words[3], "x") {
		if _, err := fmt.Sscanf(words[3], "x%d", &times); err != nil {
			t.Fatal(err)
		}
	}
	for range times {
		s.do(t, id, words[2], now)
	}
}

func (s *script) do(t *testing.T, id, what string, now time.Time) {
	verb, arg, _ := strings.Cut(what, "=")
	var took time.Duration
	if arg != "" {
		var err error
		if took, err = time.ParseDuration(arg); err != nil {
			t.Fatal(err)
		}
	}
	if verb == "begins" {
		s.g.Began(id, now)
		return
	}
	if verb == "gives" {
		s.g.Heard(id, now)
		return
	}
	end := map[string]outlier.End{
		"well": {FirstToken: took}, "fails": {Failed: true}, "unreachable": {Unreachable: true},
		"cancelled": {Cancelled: true}, "full": {Full: took},
	}
	e, ok := end[verb]
	if !ok {
		t.Fatalf("%q: no such end", verb)
	}
	s.g.Began(id, now)
	for _, n := range s.g.Ended(id, e, now) {
		fmt.Fprintf(&s.out, "%s %s\n", n.ID, n.Why)
	}
}

func TestForgets(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	g := outlier.New(outlier.Rules{}, now)
	g.Ended("gone", outlier.End{Unreachable: true}, now)
	g.Began("busy", now)
	g.Keep(func(string) bool { return false })
	st := g.Standings(nil, []string{"gone", "busy", "third"}, now.Add(31*time.Second))
	if st[0].Last || !st[1].Last {
		t.Errorf("want the one forgotten and the busy one kept, got %+v", st)
	}
}

func TestStandingsAllocateNothing(t *testing.T) {
	now := time.Unix(1e9, 0)
	g := outlier.New(outlier.Rules{}, now)
	ids := []string{"a", "b", "c", "d"}
	into := make([]outlier.Standing, 0, len(ids))
	if n := testing.AllocsPerRun(100, func() {
		g.Began("a", now)
		g.Ended("a", outlier.End{FirstToken: time.Millisecond}, now)
		into = g.Standings(into[:0], ids, now)
	}); n != 0 {
		t.Errorf("a choice and an end allocate %g times", n)
	}
}
