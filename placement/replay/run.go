package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"llmgw.io/llmgw/placement/reconciler"
)

// MaxDifferences is how many differences, and how many problems of entries, a
// report keeps.
const MaxDifferences = 200

// Report is what deciding again has shown.
type Report struct {
	// Entries were read; of those, Passes were decided again, with Decisions
	// actions in what was decided at the time.
	Entries, Passes, Decisions int
	// Missed is how many passes were never written down, as their writer says.
	Missed int
	// From and To are when the first and the last of the passes were decided.
	From, To time.Time
	// Differing is how many passes would be decided otherwise.
	Differing int
	// Differences has them line by line, oldest first, up to MaxDifferences;
	// Omitted is how many more there are.
	Differences []Difference
	Omitted     int
	// Unread is how many entries could not be used: cut off, damaged, or changes of
	// one that is missing. Problems has a sentence for the first of each run of
	// them, up to MaxDifferences.
	Unread   int
	Problems []string
}

// Difference is one thing that would be decided otherwise.
type Difference struct {
	At    time.Time
	Epoch int64
	// Text is a sentence that names model and replica.
	Text string
}

// String is one line: when, and what.
func (d Difference) String() string {
	return fmt.Sprintf("%s, epoch %d: %s", d.At.UTC().Format(time.RFC3339Nano), d.Epoch, d.Text)
}

// String is the report for people.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d entries, %d passes decided again", r.Entries, r.Passes)
	if r.Passes > 0 {
		fmt.Fprintf(&b, " from %s to %s", r.From.UTC().Format(time.RFC3339), r.To.UTC().Format(time.RFC3339))
	}
	fmt.Fprintf(&b, "\n%d decisions compared, %d passes differ\n", r.Decisions, r.Differing)
	for _, d := range r.Differences {
		b.WriteString(d.String() + "\n")
	}
	if r.Omitted > 0 {
		fmt.Fprintf(&b, "and %d more\n", r.Omitted)
	}
	if r.Missed > 0 {
		fmt.Fprintf(&b, "%d passes were not written down\n", r.Missed)
	}
	if r.Unread > 0 {
		fmt.Fprintf(&b, "%d entries could not be used:\n", r.Unread)
		for _, p := range r.Problems {
			b.WriteString(p + "\n")
		}
	}
	return b.String()
}

// Run decides again what was decided, each pass from its own inputs as they were
// written down, and reports what r would do otherwise. An entry that comes as an
// error, or cannot be read, is told and passed over. Placing filters, scorers and
// a floor of an embedder's own are not written down: r needs the same. Moves of
// zero take what was set at the time.
func Run(entries iter.Seq2[[]byte, error], r reconciler.Reconciler) Report {
	var out Report
	var d Decoder
	var cache *reconciler.Cache
	gap := false
	for data, err := range entries {
		out.Entries++
		var pass Decoded
		if err == nil {
			pass, err = d.Decode(data)
		} else {
			d = Decoder{}
		}
		if err != nil {
			out.unread(err, gap && errors.Is(err, ErrGap))
			gap = true
			continue
		}
		gap = false
		pass.Memory.Cache = cache
		cache = out.decide(&pass, r)
	}
	return out
}

// unread counts an entry that could not be used.
func (r *Report) unread(err error, follows bool) {
	r.Unread++
	if !follows && len(r.Problems) < MaxDifferences {
		r.Problems = append(r.Problems, err.Error())
	}
}

// decide decides a pass again and answers what makes the next one quick.
func (r *Report) decide(pass *Decoded, by reconciler.Reconciler) *reconciler.Cache {
	if r.Passes == 0 {
		r.From = pass.At()
	}
	r.To = pass.At()
	r.Passes++
	r.Missed += pass.Missed
	r.Decisions += len(pass.decided.Actions)
	lines, cache := pass.again(by)
	if len(lines) == 0 {
		return cache
	}
	r.Differing++
	for _, text := range lines {
		if len(r.Differences) == MaxDifferences {
			r.Omitted++
			continue
		}
		r.Differences = append(r.Differences, Difference{At: pass.At(), Epoch: pass.Epoch, Text: text})
	}
	return cache
}

// again decides the pass again and says what would be otherwise. A reconciler that
// breaks on it would do so at work.
func (d *Decoded) again(by reconciler.Reconciler) (lines []string, cache *reconciler.Cache) {
	defer func() {
		if broken := recover(); broken != nil {
			cache = nil // it may be half made
			lines = []string{fmt.Sprintf("the pass breaks the reconciler: %v", broken)}
		}
	}()
	if by.Moves == 0 {
		by.Moves = d.Moves
	}
	plan, after := by.Step(d.World, d.Memory)
	is, err := decided(&plan, after)
	if err != nil {
		return []string{"what would be decided cannot be written down: " + err.Error()}, nil
	}
	return differences(&d.decided, &is, &plan), after.Cache
}

// alike compares by JSON: what was read back has no other form.
func alike(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}
