package outlier

import (
	"slices"
	"time"
)

// ringSize is how many samples are kept of a replica.
const ringSize = 64

// ring keeps the newest samples.
type ring struct {
	took [ringSize]time.Duration
	at   [ringSize]time.Time
	n    int // ever added
}

func (r *ring) add(d time.Duration, now time.Time) {
	r.took[r.n%ringSize], r.at[r.n%ringSize] = d, now
	r.n++
}

func (r *ring) clear() { r.n = 0 }

// p95 is the 95th percentile (nearest rank) of the samples since a time; it is
// not known when there are fewer than least.
func (r *ring) p95(since time.Time, least int) (d time.Duration, known bool) {
	var took [ringSize]time.Duration
	n := 0
	for i := range min(r.n, ringSize) {
		if r.at[i].After(since) {
			took[n] = r.took[i]
			n++
		}
	}
	if n == 0 || n < least {
		return 0, false
	}
	slices.Sort(took[:n])
	return took[(95*n+99)/100-1], true
}
