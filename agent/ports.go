package agent

import (
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"llmgw.io/llmgw/agent/process"
	"llmgw.io/llmgw/agent/protocol"
)

// reserve gives the shard a port and a user and keeps them, before anything is
// started with them, so that no two shards ever get the same and a restarted agent
// knows where its engines listen and who they are. A port that the shard has
// already is kept when it is free.
func (a *Agent) reserve(d protocol.DesiredShard, at hosts, mark, gateMark string) (entry, error) {
	var out entry
	err := a.ledger.change(d.Shard, func(e *entry) error {
		taken := a.ledger.ports(d.Shard)
		port, err := a.choosePort(d.Port, e.Port, at.engine, portRange{a.cfg.PortMin, a.cfg.PortMax}, taken)
		if err != nil {
			return err
		}
		if e.UID, err = a.chooseUser(e.UID, a.ledger.users(d.Shard)); err != nil {
			return err
		}
		before := gateEntry{}
		if at.gate != "" {
			before = gateEntry{Host: at.gate, Mark: gateMark}
			if before.Port, err = a.choosePort(0, e.Gate.Port, at.gate, a.gatePorts(), taken); err != nil {
				return err
			}
		}
		e.Shard, e.Host, e.Port, e.Mark, e.Gate = d, at.engine, port, mark, before
		e.Process, e.Group, e.WasReady, e.Down = process.ID{}, nil, false, false
		out = *e
		return nil
	})
	return out, err
}

// portRange is where ports are taken from.
type portRange struct{ first, last int }

func (a *Agent) gatePorts() portRange { return portRange{a.cfg.GatePortMin, a.cfg.GatePortMax} }

// choosePort prefers what the control plane forces, then what the shard had,
// then the lowest one that is free.
func (a *Agent) choosePort(forced, had int, host string, from portRange, taken map[int]string) (int, error) {
	if forced != 0 {
		if other, ok := taken[forced]; ok {
			return 0, failed(protocol.CausePort, fmt.Sprintf("port %d is wanted for this shard and taken by shard %s on this node; let the agent choose, or stop that one", forced, other))
		}
		if !bindable(host, forced) {
			return 0, failed(protocol.CausePort, fmt.Sprintf("port %d is wanted for this shard and another program listens there; stop it, or let the agent choose", forced))
		}
		return forced, nil
	}
	ok := func(p int) bool {
		_, used := taken[p]
		return !used && !a.bad.has(p) && bindable(host, p)
	}
	if had != 0 && ok(had) {
		return had, nil
	}
	for p := from.first; p <= from.last; p++ {
		if ok(p) {
			return p, nil
		}
	}
	return 0, failed(protocol.CausePort, fmt.Sprintf("no port from %d to %d is free on %s; stop what listens there, or widen the range", from.first, from.last, host))
}

// bindable asks the kernel. Another program may still come first: the engine
// then says so, and the next start takes another port.
func bindable(host string, port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}

// ports are those of all other shards, with whose they are. It is called with
// the lock held, within change: two shards must not choose at once.
func (l *ledger) ports(but string) map[int]string {
	out := map[int]string{}
	for id, e := range l.st.Shards {
		if id != but && e.Port != 0 && !e.Down {
			out[e.Port] = id
		}
		if id != but && e.Gate.Port != 0 && !e.Down {
			out[e.Gate.Port] = id
		}
	}
	return out
}

// badPorts are ports that an engine could not use though they looked free. They
// are left alone for a while.
type badPorts struct {
	mu    sync.Mutex
	until map[int]time.Time
}

func (b *badPorts) add(port int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.until == nil {
		b.until = map[int]time.Time{}
	}
	b.until[port] = time.Now().Add(5 * time.Minute)
}

func (b *badPorts) has(port int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Now().Before(b.until[port])
}
