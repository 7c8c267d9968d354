package fleetsim

import (
	"fmt"
	"slices"
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// order is one shard as its agent is told to run it.
type order struct {
	shard   string
	replica *reconciler.Replica
	rank    int
	spot    inventory.Allocation
	want    reconciler.Phase
}

func (d order) same(o order) bool { return d.shard == o.shard && d.want == o.want }

// How long an engine takes to end once nothing is left to do, and how soon an
// agent sees that an engine is ready.
const (
	stopTakes  = 2 * time.Second
	readyLook  = 500 * time.Millisecond
	drainLimit = 5 * time.Minute
)

// shard is what an agent makes of one order. gen counts what was begun, so that
// a timer of something else comes to nothing.
type shard struct {
	a      *agent
	order  order
	absent bool

	state    inventory.ShardState
	since    time.Time
	err      string
	cause    string
	port     int
	starts   int
	began    bool // its engine was started once
	down     bool // it was stopped and waits to be forgotten
	stopping bool

	// said: it has a row in what the agent reports. rev is the row's, told the
	// last one that was answered.
	said      bool
	rev, told uint64
	gen       int
	backOff   time.Duration
}

func (sh *shard) status() inventory.ShardStatus {
	st := inventory.ShardStatus{
		ID: sh.order.shard, Model: string(sh.order.replica.Model), Profile: sh.order.replica.Profile.Name,
		State: sh.state, Error: sh.err, Cause: sh.cause, Since: sh.since, Starts: sh.starts,
	}
	if sh.order.rank == 0 && (sh.state == inventory.ShardReady || sh.state == inventory.ShardDraining) {
		st.Address = sh.a.address(sh.port)
	}
	return st
}

// say reports a state, soon.
func (sh *shard) say(state inventory.ShardState) {
	if sh.state != state {
		sh.since = sh.a.s.now
	}
	if state != inventory.ShardFailed {
		sh.err, sh.cause = "", ""
	}
	sh.state, sh.said = state, true
	sh.a.rev++
	sh.rev, sh.a.saidRev = sh.a.rev, sh.a.rev
	sh.a.hurry()
}

func (sh *shard) fail(cause, text string) {
	sh.gen++
	sh.err, sh.cause = text, cause
	sh.say(inventory.ShardFailed)
	sh.err, sh.cause = text, cause
	sh.keepUp()
}

// keepUp starts a failed engine again while the control plane is away and has
// not been told; while it is there, that is its decision.
func (sh *shard) keepUp() {
	sh.backOff = min(max(ownRetry, 2*sh.backOff), 5*time.Minute)
	sh.later(sh.backOff, func() {
		if sh.state != inventory.ShardFailed || sh.stops() {
			return
		}
		if sh.a.away() && sh.told < sh.rev {
			sh.bringUp()
			return
		}
		sh.backOff /= 2
		sh.keepUp()
	})
}

// later does something unless another thing is begun before.
func (sh *shard) later(d time.Duration, do func()) {
	gen, run := sh.gen, sh.a.run
	sh.a.s.after(d, func() {
		if sh.gen == gen && sh.a.isRun(run) {
			do()
		}
	})
}

func (sh *shard) stops() bool { return sh.absent || sh.order.want == reconciler.Stop }

// command takes what is wanted of it.
func (sh *shard) command(d order, absent bool) {
	sh.order, sh.absent = d, absent
	switch {
	case sh.stops():
		sh.bringDown()
	case !sh.said:
		sh.bringUp()
	case sh.state == inventory.ShardReady && d.want == reconciler.Drain:
		sh.say(inventory.ShardDraining)
	}
}

// bringUp takes it from nothing to an engine that starts.
func (sh *shard) bringUp() {
	sh.gen++
	sh.stopping, sh.down = false, false
	sh.say(inventory.ShardPending)
	missing, bytes := sh.missing()
	if bytes == 0 {
		sh.launch()
		return
	}
	sh.say(inventory.ShardFetching)
	sh.later(time.Duration(float64(bytes)/fetchRate*float64(time.Second)), func() {
		sh.a.fetched(missing)
		sh.launch()
	})
}

// missing are the weights that the machine has not got yet.
func (sh *shard) missing() (files []inventory.Weight, bytes int64) {
	for _, f := range sh.order.replica.Files {
		if !slices.ContainsFunc(sh.a.facts.Weights, func(w inventory.Weight) bool { return w.Path == f.Path }) {
			files = append(files, inventory.Weight{Path: f.Path, Bytes: f.Bytes})
			bytes += f.Bytes
		}
	}
	return files, bytes
}

// launch starts the engine, once those on their way out have left its devices:
// the control plane may have given a device on while nobody heard the node.
func (sh *shard) launch() {
	if sh.a.inTheWay(sh.order.spot) {
		sh.later(readyLook, sh.launch)
		return
	}
	if sh.port == 0 {
		sh.port = sh.a.newPort()
	}
	sh.began = true
	sh.starts++
	sh.a.start(sh)
	sh.say(inventory.ShardStarting)
	sh.watch()
}

// watch waits until the engine is ready, or ends.
func (sh *shard) watch() {
	e := sh.a.engines[sh.order.shard]
	wait := e.began.Add(e.takes).Sub(sh.a.s.now)
	sh.later(max(readyLook, wait), func() {
		switch e := sh.a.engines[sh.order.shard]; {
		case e == nil:
		case e.fails:
			sh.a.stopEngine(e.shard)
			sh.fail("rejected", "The engine exited with 1 at its start.")
		case sh.order.want == reconciler.Drain:
			sh.say(inventory.ShardDraining)
		default:
			sh.backOff = 0
			sh.say(inventory.ShardReady)
		}
	})
}

// bringDown waits for the requests, stops the engine and says so; a shard that
// is in no list any more is forgotten then.
func (sh *shard) bringDown() {
	if sh.down {
		sh.forget()
		return
	}
	if sh.stopping {
		return
	}
	sh.gen++
	sh.stopping = true
	sh.a.s.laws.stopping(sh)
	if sh.a.engines[sh.order.shard] == nil {
		sh.stopped()
		return
	}
	if sh.state == inventory.ShardReady || sh.state == inventory.ShardDraining {
		sh.say(inventory.ShardDraining)
	}
	sh.drain(sh.a.s.now.Add(drainSpan(sh.order.replica)))
}

func drainSpan(r *reconciler.Replica) time.Duration {
	if d := time.Duration(r.Profile.DrainTimeout); d > 0 {
		return d
	}
	return drainLimit
}

func (sh *shard) drain(until time.Time) {
	if sh.a.s.router.busy(sh.order.replica.ID) && sh.a.s.now.Before(until) {
		sh.later(readyLook, func() { sh.drain(until) })
		return
	}
	sh.later(stopTakes, func() {
		sh.a.stopEngine(sh.order.shard)
		sh.stopped()
	})
}

func (sh *shard) stopped() {
	sh.stopping, sh.down = false, true
	if sh.state != inventory.ShardStopped {
		sh.say(inventory.ShardStopped)
	}
	sh.forget()
}

func (sh *shard) forget() {
	if !sh.absent {
		return
	}
	delete(sh.a.shards, sh.order.shard)
	sh.gen++
	sh.a.rev++
	if !sh.a.shutting() {
		sh.a.hurry()
	}
}

func (a *agent) shutting() bool { return !a.up }

// adopt is what a new agent finds of it.
func (sh *shard) adopt() {
	sh.gen++
	sh.rev, sh.told, sh.said, sh.stopping, sh.backOff = 0, 0, false, false, 0
	switch {
	case sh.down:
		sh.say(inventory.ShardStopped)
		if sh.absent {
			sh.forget()
		}
	case sh.a.engines[sh.order.shard] != nil:
		sh.say(inventory.ShardStarting)
		if sh.stops() {
			sh.bringDown()
		} else {
			sh.watch()
		}
	case sh.began:
		sh.fail("exited", fmt.Sprintf("The engine of %s ended while no agent ran.", sh.order.shard))
		if sh.stops() {
			sh.bringDown()
		}
	case sh.stops():
		sh.bringDown()
	default:
		sh.bringUp()
	}
}
