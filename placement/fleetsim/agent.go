package fleetsim

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"llmgw.io/llmgw/inventory"
)

// What an agent does, and when, as package agent has it.
const (
	beatEvery  = 5 * time.Second
	pollAfter  = 25 * time.Second
	pollLimit  = pollAfter + 10*time.Second
	retryFirst = time.Second
	retryMost  = 30 * time.Second
	factsEvery = time.Minute
	// awayAfter is the silence after which the control plane counts as away, and
	// an agent starts by itself what failed.
	awayAfter = 15 * time.Second
	ownRetry  = 5 * time.Second
	// firstPort is the lowest that engines listen on.
	firstPort = 20000
)

// agent is one machine: its agent, and the engines that outlive it.
type agent struct {
	s     *sim
	id    inventory.NodeID
	facts *inventory.Facts
	// powered: the machine runs. up: so does its agent. run counts agents, so
	// that what an earlier one began comes to nothing.
	powered, up bool
	run         int
	cutUntil    time.Time

	// engines are the processes of the machine, by shard: the truth that laws
	// are held against.
	engines map[string]*engine
	// ledger is on the disk: what was desired, and the shards that were begun.
	epoch   int64
	version uint64
	shards  map[string]*shard

	rev        uint64
	saidRev    uint64    // of the newest thing said of a shard
	toldRev    uint64    // the newest that was answered
	heardAt    time.Time // when a control plane last answered
	factsAt    time.Time // when facts were last sent and taken
	factsNew   bool
	beatDue    bool // a beat beside the regular ones is on its way
	poll       int  // the number of the open poll
	pollFailed time.Duration
}

// engine is a process that runs.
type engine struct {
	shard   string
	replica string
	spot    inventory.Allocation
	port    int
	began   time.Time
	takes   time.Duration
	fails   bool
}

func (e *engine) ready(now time.Time) bool { return !e.fails && !now.Before(e.began.Add(e.takes)) }

func newAgent(s *sim, n *inventory.Node) *agent {
	facts := n.Facts
	return &agent{
		s: s, id: n.ID, facts: &facts, powered: n.Hearing == inventory.Heard,
		engines: map[string]*engine{}, shards: map[string]*shard{},
	}
}

func (a *agent) isCut(now time.Time) bool { return now.Before(a.cutUntil) }

// isRun reports whether the agent that began something is still there.
func (a *agent) isRun(run int) bool { return a.up && a.run == run }

// boot starts the agent: it goes on with what it kept, and adopts engines.
func (a *agent) boot() {
	if !a.powered || a.up {
		return
	}
	a.up, a.rev, a.saidRev, a.toldRev, a.beatDue = true, 0, 0, 0, false
	a.run++
	a.heardAt, a.factsNew, a.pollFailed = a.s.now, true, 0
	for _, id := range slices.Sorted(maps.Keys(a.shards)) {
		a.shards[id].adopt()
	}
	a.beats(a.run)
	a.ask()
}

// end ends the agent and leaves the engines alone. Zero: it does not come back.
func (a *agent) end(span time.Duration) {
	a.up = false
	if span > 0 {
		a.s.after(span, a.boot)
	}
}

// powerOff takes the machine away with all that runs on it.
func (a *agent) powerOff(span time.Duration) {
	a.powered, a.up = false, false
	clear(a.engines)
	a.s.router.lost(a)
	if span > 0 {
		a.s.after(span, func() {
			a.powered = true
			a.boot()
		})
	}
}

// lose ends the first engine without a word.
func (a *agent) lose() {
	if len(a.engines) == 0 {
		return
	}
	a.loseEngine(slices.Min(slices.Collect(maps.Keys(a.engines))))
}

func (a *agent) loseEngine(id string) {
	delete(a.engines, id)
	a.s.router.lost(a)
	if sh := a.shards[id]; sh != nil && a.up {
		sh.fail("exited", "The engine exited with 1.")
	}
}

// spoil gives the machine's first device a problem, or takes it away again.
func (a *agent) spoil(problem string) {
	if len(a.facts.Devices) == 0 {
		return
	}
	next := *a.facts
	next.Devices = slices.Clone(next.Devices)
	next.Devices[0].Problem = problem
	a.facts = &next
	a.hurryPoll()
	if problem == "" {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(a.engines)) {
		if slices.ContainsFunc(a.engines[id].spot.Devices, func(d inventory.DeviceShare) bool { return d.Index == next.Devices[0].Index }) {
			a.loseEngine(id)
		}
	}
}

// beats says that the node is alive, for as long as this agent runs.
func (a *agent) beats(run int) {
	if !a.isRun(run) {
		return
	}
	a.beat()
	if a.s.chance(a.s.sc.net.facts) {
		a.useDisk()
	}
	a.s.after(beatEvery, func() { a.beats(run) })
}

// useDisk is what others write and remove on the machine's disk.
func (a *agent) useDisk() {
	next := *a.facts
	next.DiskFreeMB = max(64<<10, next.DiskFreeMB) + a.s.rng.Int64N(1<<10)
	next.DiskTotalMB = max(next.DiskTotalMB, 2*next.DiskFreeMB)
	a.facts = &next
	a.hurryPoll()
}

// hurry lets news go at once.
func (a *agent) hurry() {
	if a.beatDue || !a.up {
		return
	}
	a.beatDue = true
	run := a.run
	a.s.after(time.Millisecond, func() {
		if a.isRun(run) {
			a.beatDue = false
			a.beat()
		}
	})
}

// beat sends what the control plane has not heard yet.
func (a *agent) beat() {
	b := report{run: a.run, factsNew: a.factsNew}
	if a.saidRev > a.toldRev {
		for _, id := range slices.Sorted(maps.Keys(a.shards)) {
			if sh := a.shards[id]; sh.said && sh.told < sh.rev {
				b.shards = append(b.shards, sh.status())
			}
		}
	}
	a.rev++
	b.rev = a.rev
	c := a.s.reach()
	a.s.send(a, func() { c.heardBeat(a, b) })
}

// answered is the way back of a beat or a poll: everything up to a revision is
// known there.
func (a *agent) answered(rev uint64) {
	a.heardAt = a.s.now
	if a.toldRev >= a.saidRev {
		return
	}
	a.toldRev = max(a.toldRev, rev)
	for _, sh := range a.shards {
		if sh.rev <= rev {
			sh.told = sh.rev
		}
	}
}

// ask polls for the desired state, one poll at a time.
func (a *agent) ask() {
	a.poll++
	poll, run := a.poll, a.run
	in := report{run: a.run, whole: true, epoch: a.epoch, version: a.version, poll: poll}
	if a.factsNew || a.s.now.Sub(a.factsAt) >= factsEvery {
		in.facts = a.facts
	}
	for _, id := range slices.Sorted(maps.Keys(a.shards)) {
		if sh := a.shards[id]; sh.said {
			in.shards = append(in.shards, sh.status())
		}
	}
	a.rev++
	in.rev = a.rev
	c := a.s.reach()
	a.s.send(a, func() { c.heardPoll(a, in) })
	a.s.after(pollLimit, func() {
		if a.isRun(run) && a.poll == poll {
			a.pollAgain()
		}
	})
}

// pollAgain waits a growing while after a poll that failed.
func (a *agent) pollAgain() {
	a.pollFailed = min(max(retryFirst, 2*a.pollFailed), retryMost)
	a.poll++
	poll, run := a.poll, a.run
	a.s.after(a.s.between(a.pollFailed*4/5, a.pollFailed*6/5), func() {
		if a.isRun(run) && a.poll == poll {
			a.ask()
		}
	})
}

// hurryPoll gives up an open poll for one that carries facts.
func (a *agent) hurryPoll() {
	if a.up {
		a.factsNew = true
		a.ask()
	}
}

// told takes an answer to the open poll; one to an older poll has no reader.
func (a *agent) told(in report, d desired) {
	if !a.isRun(in.run) || a.poll != in.poll {
		return
	}
	a.answered(in.rev)
	if in.facts != nil {
		a.factsAt, a.factsNew = a.s.now, in.facts != a.facts
	}
	if !d.known {
		a.pollAgain()
		return
	}
	a.pollFailed = 0
	if d.epoch < a.epoch {
		a.pollAgain() // an earlier leader still speaks
		return
	}
	a.s.laws.applied(a, d)
	a.epoch, a.version = d.epoch, d.version
	a.direct(d.shards)
	a.ask()
}

// direct works to a list: what is not in it is stopped, and then forgotten.
func (a *agent) direct(list []order) {
	wanted := map[string]bool{}
	for _, d := range list {
		wanted[d.shard] = true
		sh := a.shards[d.shard]
		if sh == nil {
			sh = &shard{a: a, order: d, since: a.s.now}
			a.shards[d.shard] = sh
		}
		sh.command(d, false)
	}
	for _, id := range slices.Sorted(maps.Keys(a.shards)) {
		if sh := a.shards[id]; !wanted[id] {
			sh.command(sh.order, true)
		}
	}
}

// newPort is the lowest that no shard of the ledger has.
func (a *agent) newPort() int {
	taken := map[int]bool{}
	for _, sh := range a.shards {
		taken[sh.port] = true
	}
	for p := firstPort; ; p++ {
		if !taken[p] {
			return p
		}
	}
}

func (a *agent) address(port int) string { return string(a.id) + ":" + strconv.Itoa(port) }

// fetched notes weights that are on the disk now, as a fact worth sending.
func (a *agent) fetched(files []inventory.Weight) {
	next := *a.facts
	next.Weights = slices.Clone(next.Weights)
	for _, f := range files {
		if slices.ContainsFunc(next.Weights, func(w inventory.Weight) bool { return w.Path == f.Path }) {
			continue
		}
		next.Weights = append(next.Weights, f)
		if next.DiskFreeMB > 0 {
			next.DiskFreeMB = max(1, next.DiskFreeMB-f.Bytes>>20)
		}
	}
	if len(next.Weights) == len(a.facts.Weights) {
		return
	}
	a.facts = &next
	a.hurryPoll()
}

func (a *agent) away() bool { return a.s.now.Sub(a.heardAt) >= awayAfter }

// inTheWay reports whether an engine runs that leaves no room on a device.
func (a *agent) inTheWay(spot inventory.Allocation) bool {
	for _, d := range spot.Devices {
		var shared int64
		for _, e := range a.engines {
			for _, o := range e.spot.Devices {
				switch {
				case o.Index != d.Index:
				case o.MemoryMB == 0 || d.MemoryMB == 0:
					return true
				default:
					shared += o.MemoryMB
				}
			}
		}
		for _, dev := range a.facts.Devices {
			if dev.Index == d.Index && dev.MemoryMB > 0 && shared+d.MemoryMB > dev.MemoryMB-dev.ForeignMB {
				return true
			}
		}
	}
	return false
}

// start starts an engine: from here on it holds its devices and its port.
func (a *agent) start(sh *shard) {
	name := sh.order.replica.Model
	e := &engine{
		shard: sh.order.shard, replica: string(sh.order.replica.ID), spot: sh.order.spot, port: sh.port, began: a.s.now,
		takes: a.s.starts[name], fails: a.s.isBroken(name),
	}
	a.engines[e.shard] = e
	a.s.laws.started(a, e)
}

// stopEngine ends it for good.
func (a *agent) stopEngine(id string) {
	if _, there := a.engines[id]; there {
		delete(a.engines, id)
		a.s.router.lost(a)
	}
}
