package fabrics

import (
	"time"

	"llmgw.io/llmgw/inventory"
)

// Memory is what is remembered of ports from look to look. The zero value
// remembers nothing. It is never changed: Watch makes the next one. It is kept in
// memory only, so a process that starts anew knows no earlier changes.
type Memory struct {
	ports map[Port]seen
	// became is the key that a network has now, by one it had before, while a port
	// still says that one.
	became map[string]string
	// doubts are keys that may be networks under a new manager, by that key.
	doubts map[string]doubt
	// managers are the GUIDs of all managers that a network was last said to have,
	// by key.
	managers map[string][]string
	// since is when a problem was first seen.
	since map[trouble]time.Time
	// changes are the newest, the newest first.
	changes []Change
}

// Port names one port of the fleet.
type Port struct {
	Node inventory.NodeID
	HCA  string
	Port int
}

// doubt is a key that was seen where another was before, while others still see
// the other.
type doubt struct {
	from  string
	since time.Time
}

// trouble is what tells problems apart.
type trouble struct {
	fabric string
	kind   Kind
}

// seen is what one port said last.
type seen struct {
	// key is the network it was last known to be on, also while it is down.
	key string
	// sampled is when the counters were read. Zero: never.
	sampled time.Time
	tx, rx  *int64
	errors  map[string]int64
	// txBPS and rxBPS are in bits a second, between the last two readings.
	txBPS, rxBPS float64
	// grew is by how much each counter of errors grew since grewFrom, grewAt when
	// it last did.
	grew             map[string]int64
	grewFrom, grewAt time.Time
}

const (
	// settle is how long others may go on seeing a manager before who sees another
	// is taken to have been cabled elsewhere: agents ask once a minute.
	settle = 3 * time.Minute
	// grown is for how long errors are shown after they grew.
	grown = 10 * time.Minute
	// patience is how long ports may wait for a subnet manager.
	patience = 2 * time.Minute
	// recent is how long a change of the manager is shown as a problem.
	recent = 24 * time.Hour
	// mostChanges are kept.
	mostChanges = 100
)

// Traffic is what went over a port between the last two readings of its
// counters, in bits a second, at a time: nothing after a reset, or when the
// newest reading is older than a minute.
func (m Memory) Traffic(p Port, now time.Time) (tx, rx float64) {
	s := m.ports[p]
	if now.Sub(s.sampled) > time.Minute {
		return 0, 0
	}
	return s.txBPS, s.rxBPS
}

// Key is the key that a network has now, by any it had while it was watched. One
// that may be a network under a new manager counts as that network.
func (m Memory) Key(key string) string {
	if d, ok := m.doubts[key]; ok {
		key = d.from
	}
	if now, ok := m.became[key]; ok {
		return now
	}
	return key
}

// Changes are those of subnet managers, the newest first. Read only.
func (m Memory) Changes() []Change { return m.changes }

// networkOf is the key of the network that a port is on now, or was on last.
func (m Memory) networkOf(id Port, p *inventory.Port) string {
	if s, ok := m.ports[id]; ok && s.key != "" {
		return m.Key(s.key)
	}
	return m.Key(p.Key())
}
