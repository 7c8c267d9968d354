package gate

import "sync/atomic"

// flight counts requests, and knows whether new ones are taken.
type flight struct {
	now      atomic.Int64
	served   atomic.Uint64
	refused  atomic.Uint64
	draining atomic.Bool
}

// enter counts a request in. False: the gate drains, and it was not counted. It
// is counted before the look at draining, so whoever first says drain and then
// reads zero knows that nothing follows.
func (f *flight) enter() bool {
	f.now.Add(1)
	if f.draining.Load() {
		f.now.Add(-1)
		f.refused.Add(1)
		return false
	}
	return true
}

func (f *flight) leave() {
	f.served.Add(1)
	f.now.Add(-1)
}
