package fix

import (
	"fmt"
	"slices"
	"strings"

	"llmgw.io/llmgw/placement"
)

// nearest is a proven offer with every number as near to what it was as does,
// for people.
func (s *search) nearest(o *offer, d placement.Decision) Fix {
	for i := range o.changes {
		n := o.changes[i].number
		if n == nil || len(o.changes) == 1 {
			continue // alone it is the nearest already
		}
		for lo, hi := 1, (n.near-n.v)*n.up; lo <= hi; {
			mid := (lo + hi) / 2
			next := offerOf(slices.Clone(o.changes)...)
			next.changes[i] = n.to(n.v + mid*n.up)
			if nd, proven := s.prove(next); proven {
				o, d, lo = next, nd, mid+1
			} else {
				hi = mid - 1
			}
		}
	}
	return o.fix(d)
}

// fix is an offer that was proven, for people.
func (o *offer) fix(d placement.Decision) Fix {
	f := Fix{Profile: d.Candidate.Profile}
	var do []string
	for i := range o.changes {
		c := &o.changes[i]
		step := Step{Do: c.Do, Object: c.Object}
		step.Detail, step.Text = c.tell()
		f.Steps = append(f.Steps, step)
		do = append(do, step.Text)
		if c.Do == Stop {
			f.Stops = append(f.Stops, c.Object)
		}
	}
	slices.Sort(f.Stops)
	var places []string
	for _, s := range d.Candidate.Spots {
		f.Places = append(f.Places, s.Node)
		places = append(places, string(s.Node))
	}
	text := listed(do)
	f.Text = fmt.Sprintf("%s%s: then it fits on %s as %s.", strings.ToUpper(text[:1]), text[1:], listed(places), f.Profile)
	return f
}

// listed is a list in words.
func listed(of []string) string {
	switch len(of) {
	case 0:
		return "nothing"
	case 1:
		return of[0]
	}
	return strings.Join(of[:len(of)-1], ", ") + " and " + of[len(of)-1]
}
