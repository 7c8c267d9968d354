package ports

import (
	"fmt"
	"slices"
	"time"
)

const (
	// dropAfter is how long a port must be down for it to count.
	dropAfter = 25 * time.Second
	// flapDrops within flapSpan make a port that flaps.
	flapDrops = 3
	flapSpan  = 12 * time.Hour
	// dropShown is how long a drop is told of after the port came back.
	dropShown = 10 * time.Minute
)

// flap tells from looks at a port whether it flaps. One that was never up is not
// cabled, and does not.
type flap struct {
	// wasUp says that it was up at some look. down is since when it is not, zero
	// where it is up.
	wasUp bool
	down  time.Time
	// drops are when it was down for long enough, as each began; counted says that
	// the one under way is among them.
	drops   []time.Time
	counted bool
	// back is when the last of them ended.
	back time.Time
}

// see takes one look.
func (f *flap) see(up bool, now time.Time) {
	f.drops = slices.DeleteFunc(f.drops, func(at time.Time) bool { return now.Sub(at) > flapSpan })
	switch {
	case up:
		if f.counted {
			f.back = now
		}
		f.wasUp, f.down, f.counted = true, time.Time{}, false
	case !f.wasUp:
	case f.down.IsZero():
		f.down = now
	case !f.counted && now.Sub(f.down) >= dropAfter:
		f.counted = true
		f.drops = append(f.drops, f.down)
	}
}

// flapping reports whether it was down too often.
func (f *flap) flapping(now time.Time) bool {
	n := 0
	for _, at := range f.drops {
		if now.Sub(at) <= flapSpan {
			n++
		}
	}
	return n >= flapDrops
}

// warnings say what is to be known of it. Their text does not move with time,
// since they are facts.
func (f *flap) warnings(port string, now time.Time) []string {
	switch {
	case f.flapping(now):
		return []string{fmt.Sprintf("port %s flaps: it was down %d times or more within %.0f hours; look at its cable and at the far end", port, flapDrops, flapSpan.Hours())}
	case f.counted:
		return []string{fmt.Sprintf("port %s was up and is down", port)}
	case !f.back.IsZero() && now.Sub(f.back) < dropShown:
		return []string{fmt.Sprintf("port %s was down and is up again", port)}
	}
	return nil
}
