package process

import "time"

// clockTick is the kernel's unit of processor time on every machine that runs
// engines.
const clockTick = 100

// Meter measures what a process and all that it started use. It is one
// goroutine's.
type Meter struct {
	tree  Tree
	ticks uint64
	at    time.Time
}

// NewMeter makes one for a process that runs.
func NewMeter(p *Process) *Meter { return &Meter{tree: p.tree} }

// Read gives the resident memory now and the cores used since the last reading;
// the first one has no cores.
func (m *Meter) Read(now time.Time) (bytes int64, cores float64) {
	bytes, ticks := m.tree.use()
	if span := now.Sub(m.at).Seconds(); !m.at.IsZero() && span > 0 && ticks > m.ticks {
		cores = float64(ticks-m.ticks) / clockTick / span
	}
	m.ticks, m.at = ticks, now
	return bytes, cores
}
