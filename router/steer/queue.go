package steer

import "time"

// queue is the prompts that a replica was sent and has not answered to, in the order of sending.
type queue struct {
	waiting []waiting
	need    float64   // seconds of all of them
	since   time.Time // when the replica came to the first one
}

type waiting struct {
	ticket uint64
	tokens float64
	need   float64 // seconds that were expected for it
	sent   time.Time
	silent bool // no first token will be seen, since its answer is not streamed
	late   bool // it had to wait for a slot, so its time says nothing of the replica's speed
	// resident: its adapter was the one asked for last
	resident bool
}

func (q *queue) add(w waiting) {
	if len(q.waiting) == 0 {
		q.since = w.sent
	}
	q.waiting = append(q.waiting, w)
	q.need += w.need
}

// left is how many seconds the replica needs for what is queued. A first prompt that takes longer than was expected is
// expected to take as long again as it is late: a replica that hangs looks worse with every second.
func (q *queue) left(now time.Time) float64 {
	if len(q.waiting) == 0 {
		return 0
	}
	head := q.waiting[0].need
	rest := head - seconds(now.Sub(q.since))
	if rest < 0 {
		rest = -rest
	}
	return max(q.need-head, 0) + rest
}

// pass takes out what must have been read by now and whose first token nobody sees.
func (q *queue) pass(now time.Time) {
	for len(q.waiting) > 0 && q.waiting[0].silent {
		read := q.since.Add(duration(q.waiting[0].need))
		if read.After(now) {
			return
		}
		q.cut(0)
		q.since = read
		if len(q.waiting) > 0 && q.waiting[0].sent.After(read) {
			q.since = q.waiting[0].sent
		}
	}
}

// end takes a prompt out; false when it is not there.
func (q *queue) end(ticket uint64) (waiting, bool) {
	for i := range q.waiting {
		if w := q.waiting[i]; w.ticket == ticket {
			q.cut(i)
			return w, true
		}
	}
	return waiting{}, false
}

// took is the time that a prompt which was taken out now took, less that of those before it.
func (q *queue) took(now time.Time, w waiting) sample {
	from := w.sent
	if q.since.After(from) {
		from = q.since
	}
	q.since = now
	return sample{known: !w.late, late: w.late, tokens: w.tokens, took: max(seconds(now.Sub(from)), 0), resident: w.resident}
}

func (q *queue) cut(i int) {
	q.need -= q.waiting[i].need
	copy(q.waiting[i:], q.waiting[i+1:])
	q.waiting = q.waiting[:len(q.waiting)-1]
	if len(q.waiting) == 0 {
		q.need = 0
	}
}
