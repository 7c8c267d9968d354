package placement

import "math"

// tournament keeps the best of many totals: a change costs as many steps as the
// number has bits, and fewer where it changes no winner.
type tournament struct {
	size   int       // a power of two
	totals []float64 // of the winners of a binary tree; leaves from size on
}

func newTournament(n int) tournament {
	t := tournament{size: 1}
	for t.size < n {
		t.size *= 2
	}
	t.totals = make([]float64, 2*t.size)
	for i := range t.totals {
		t.totals[i] = math.Inf(-1)
	}
	return t
}

func (t *tournament) total(at int32) float64 { return t.totals[t.size+int(at)] }

func (t *tournament) put(at int32, total float64) {
	i := t.size + int(at)
	if t.totals[i] == total {
		return
	}
	t.totals[i] = total
	for i /= 2; i > 0; i /= 2 {
		w := max(t.totals[2*i], t.totals[2*i+1])
		if w == t.totals[i] {
			return
		}
		t.totals[i] = w
	}
}

// winner is the first of those with the best total; -1 when all are minus
// infinity.
func (t *tournament) winner() int32 {
	if math.IsInf(t.totals[1], -1) {
		return -1
	}
	i := 1
	for i < t.size {
		if i *= 2; t.totals[i] != t.totals[i/2] {
			i++
		}
	}
	return int32(i - t.size)
}
