package reconciler_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
	"llmgw.io/llmgw/placement/reconciler"
)

var (
	simSeed  = flag.Uint64("seed", 0, "run the simulation of this one seed")
	simSeeds = flag.Uint64("seeds", 50, "how many seeds the simulation runs")
)

// TestSimulation lets crashes, losses, returns, demand, edits, orders and
// restarts of the control plane come at random, with agents that do what they
// are told after a while, and holds every step against the laws. After the
// events it waits until all is at rest and looks whether what was wanted is
// there.
func TestSimulation(t *testing.T) {
	t.Parallel()
	first, last := uint64(1), *simSeeds
	if *simSeed != 0 {
		first, last = *simSeed, *simSeed
	}
	for seed := first; seed <= last; seed++ {
		t.Run(fmt.Sprintf("seed%d", seed), func(t *testing.T) {
			t.Parallel()
			s := newSim(t, seed)
			if err := s.run(); err != nil {
				t.Fatalf("seed %d: %v\nrun it again with -seed=%d; its last lines:\n%s", seed, err, seed, strings.Join(s.log[max(0, len(s.log)-60):], "\n"))
			}
		})
	}
}

type sim struct {
	*sandbox
	rng *rand.Rand
	log []string
	// broken are models whose engines exit at start.
	broken map[catalog.Name]bool
	// down are nodes whose machine is cut off, and when they come back.
	down map[inventory.NodeID]bool
	// starts counts the replicas of a model since it was last retried or edited.
	starts map[catalog.Name]int
	// taken counts the replicas that gave way to higher classes.
	taken int
	moves movesLaw
}

func newSim(t *testing.T, seed uint64) *sim {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	var fleet strings.Builder
	for i := range 2 + rng.IntN(5) {
		fmt.Fprintf(&fleet, "n%d gpu=%dxL4-24 rack=r%d\n", i, 1+rng.IntN(4), i%2)
	}
	b, err := newSandbox(fleet.String())
	if err != nil {
		t.Fatal(err)
	}
	if seed%2 == 0 {
		b.by.Moves = 40
	}
	return &sim{sandbox: b, rng: rng, broken: map[catalog.Name]bool{}, down: map[inventory.NodeID]bool{}, starts: map[catalog.Name]int{}}
}

func (s *sim) note(format string, args ...any) {
	s.log = append(s.log, s.now.Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

func (s *sim) line(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	s.note("%s", text)
	_, err := s.do(text)
	return err
}

func (s *sim) run() error {
	for range 100 {
		if err := s.event(); err != nil {
			return err
		}
		if err := s.look(); err != nil {
			return err
		}
		s.now = s.now.Add(time.Duration(s.rng.IntN(20_000)) * time.Millisecond)
		s.agents(0.5)
	}
	return s.rest()
}

// event is one thing that happens.
func (s *sim) event() error {
	name := fmt.Sprintf("m%d", s.rng.IntN(4))
	node := s.anyNode()
	switch s.rng.IntN(18) {
	case 0, 1, 2:
		s.starts[catalog.Name(name)] = 0
		least := s.rng.IntN(3)
		class := []string{"critical", "standard", "batch"}[s.rng.IntN(3)]
		return s.line("model %s min=%d max=%d idle=30s gpu=%d class=%s context=%d", name, least, least+s.rng.IntN(2), 1+s.rng.IntN(2), class, 1024*(1+s.rng.IntN(2)))
	case 3:
		if s.rng.IntN(4) == 0 {
			return s.line("remove %s", name)
		}
	case 4, 5:
		return s.line("ask %s waiting=%d", name, s.rng.IntN(3))
	case 6:
		if r := s.anyReplica(); r != "" {
			return s.line("use %s inflight=%d", r, s.rng.IntN(2))
		}
	case 7:
		return s.crash()
	case 8, 9:
		return s.cut(node)
	case 10:
		return s.line("node %s %s", node, []string{"ready", "ready", "cordoned", "draining"}[s.rng.IntN(4)])
	case 11:
		s.broken[catalog.Name(name)] = s.rng.IntN(3) == 0
		s.note("engines of %s are broken: %t", name, s.broken[catalog.Name(name)])
	case 12:
		s.starts[catalog.Name(name)] = 0
		return s.line("retry %s", name)
	case 13:
		if r := s.anyReplica(); r != "" {
			return s.line("restart %s %s", r, []string{"replace", "in_place", "rollout", "rollout_borrow"}[s.rng.IntN(4)])
		}
	case 14:
		return s.restart()
	case 15, 16:
		rack := fmt.Sprintf("rack:r%d", s.rng.IntN(2))
		if len(s.holds) > 0 {
			return s.line("unhold %s", s.holds[0].Domain)
		}
		return s.line("hold %s%s", rack, []string{"", " from=0s", " from=30s until=5m"}[s.rng.IntN(3)])
	case 17:
		if len(s.nodes) >= reconciler.BrakeNodes && s.rng.IntN(3) == 0 {
			return s.cutMany()
		}
	}
	return nil
}

func (s *sim) restart() error {
	if s.rng.IntN(3) > 0 {
		return nil
	}
	shards := map[inventory.NodeID][]inventory.ShardStatus{}
	for id, n := range s.nodes {
		shards[id] = n.Shards
	}
	if err := s.line("restart-control"); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(s.nodes)) {
		if s.down[id] {
			continue
		}
		for _, st := range shards[id] {
			s.report(id, st)
		}
		s.line("node %s heard", id)
		s.line("node %s listed", id)
	}
	return s.line("routers start")
}

func (s *sim) crash() error {
	r := s.anyReplica()
	if r == "" {
		return nil
	}
	shard := string(r) + ".0"
	if n := s.nodes[s.homes[shard]]; n == nil || s.down[n.ID] {
		return nil
	}
	return s.line("shard %s failed cause=exited : The engine exited with 1.", shard)
}

// cut makes silence grow by one step, or brings a node back, sometimes after it
// was started anew and has forgotten everything.
func (s *sim) cut(node inventory.NodeID) error {
	n := s.nodes[node]
	if n.Hearing == inventory.Heard {
		s.down[node] = true
		return s.line("node %s unreachable", node)
	}
	if n.Hearing == inventory.Unreachable && s.rng.IntN(2) == 0 {
		return s.line("node %s lost", node)
	}
	return s.comeBack(node, s.rng.IntN(3) == 0)
}

// cutMany cuts off half of the nodes at once.
func (s *sim) cutMany() error {
	for i, id := range slices.Sorted(maps.Keys(s.nodes)) {
		if i%2 == 0 && s.nodes[id].Hearing == inventory.Heard {
			s.down[id] = true
			s.line("node %s unreachable", id)
		}
	}
	return nil
}

func (s *sim) comeBack(node inventory.NodeID, rebooted bool) error {
	delete(s.down, node)
	if rebooted {
		s.note("%s was started anew", node)
		s.say(node, func(n *inventory.Node) { n.Shards = nil })
	}
	s.line("node %s heard", node)
	s.say(node, func(n *inventory.Node) { n.ShardsKnown = true })
	return nil
}

// agents do what they are told, each thing with some probability.
func (s *sim) agents(likely float64) {
	for _, id := range slices.Sorted(maps.Keys(s.replicas)) {
		r := s.replicas[id]
		for _, sh := range r.Shards {
			n := s.nodes[sh.Spot.Node]
			if n == nil || s.down[n.ID] || s.rng.Float64() > likely {
				continue
			}
			if next := s.nextState(r, n, string(sh.ID)); next != "" {
				s.line("shard %s %s cause=exited", sh.ID, next)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.nodes)) {
		if s.down[id] {
			continue
		}
		s.say(id, func(n *inventory.Node) {
			n.Shards = slices.DeleteFunc(n.Shards, func(st inventory.ShardStatus) bool {
				_, ordered := s.replicas[reconciler.ReplicaID(strings.TrimSuffix(st.ID, ".0"))]
				return !ordered
			})
		})
	}
}

func (s *sim) nextState(r reconciler.Replica, n *inventory.Node, shard string) inventory.ShardState {
	st, _ := n.Shard(shard)
	switch {
	case st.State == inventory.ShardFailed || st.State == inventory.ShardStopped:
		return ""
	case r.Phase == reconciler.Stop:
		return inventory.ShardStopped
	case r.Phase == reconciler.Drain:
		return ""
	case st.State == "":
		return inventory.ShardStarting
	case st.State == inventory.ShardStarting && s.broken[r.Model]:
		return inventory.ShardFailed
	case st.State == inventory.ShardStarting:
		return inventory.ShardReady
	}
	return ""
}

func (s *sim) anyNode() inventory.NodeID {
	ids := slices.Sorted(maps.Keys(s.nodes))
	return ids[s.rng.IntN(len(ids))]
}

func (s *sim) anyReplica() reconciler.ReplicaID {
	ids := slices.Sorted(maps.Keys(s.replicas))
	if len(ids) == 0 {
		return ""
	}
	return ids[s.rng.IntN(len(ids))]
}

// look steps until nothing is left to do at this moment. A plan that frees no
// room leaves nothing for the next step.
func (s *sim) look() error {
	for turn := 0; ; turn++ {
		before := s.world()
		plan, err := s.step()
		s.note("%s", strings.TrimSpace(s.showPlan(plan)))
		if err != nil {
			return err
		}
		if err := s.laws(before, plan); err != nil {
			return err
		}
		if len(plan.Actions) == 0 {
			return nil
		}
		freed := slices.ContainsFunc(plan.Actions, func(a reconciler.Action) bool { return a.Kind == reconciler.Forget })
		// Classes that wait for lower ones to leave a held place may be next.
		carried := slices.ContainsFunc(s.holds, func(h inventory.Hold) bool { return !h.From.IsZero() })
		// Room that comes because somebody leaves may suit others better.
		waited := false
		for _, h := range plan.Health {
			waited = waited || h.Coming > 0
		}
		if turn > 0 && !freed && (!carried && !waited || turn > 5) {
			return fmt.Errorf("a plan that was carried out left something to do: %s", s.showActions(plan))
		}
		if !freed {
			// The next plan must be empty.
			turn = max(turn, 0)
			continue
		}
		turn = -1
	}
}

// laws holds what a step has made of the world against what must always be.
func (s *sim) laws(before reconciler.World, plan reconciler.Plan) error {
	for _, a := range plan.Actions {
		if a.Kind != reconciler.Place {
			continue
		}
		s.starts[a.Replica.Model]++
		m := s.memory.Models[a.Replica.Model]
		for _, sh := range a.Replica.Shards {
			if h := before.Fleet.Node(sh.Spot.Node).Held; h.Yes() {
				return fmt.Errorf("%s is placed on %s, and %s", a.Replica.ID, sh.Spot.Node, h.Reason)
			}
		}
		if m.Parked {
			return fmt.Errorf("%s is placed though its model is parked", a.Replica.ID)
		}
	}
	for name, e := range s.models {
		_, most := e.Model.Bounds()
		if err := s.notAboveMax(before, name, most); err != nil {
			return err
		}
		if err := s.notShort(before, e, plan); err != nil {
			return err
		}
	}
	if err := s.takenFromLower(plan); err != nil {
		return err
	}
	if err := s.moves.check(s.sandbox, before, plan); err != nil {
		return err
	}
	return s.keptByBrake(before, plan)
}

// takenFromLower: room is taken from strictly lower classes only, for a model
// that waits for it, and never while the brake is set.
func (s *sim) takenFromLower(plan reconciler.Plan) error {
	for _, a := range plan.Actions {
		if a.Kind != reconciler.Update || !strings.HasPrefix(a.Replica.Why, "preempted: ") {
			continue
		}
		told := slices.ContainsFunc(plan.Events, func(e reconciler.Event) bool {
			return e.Kind == reconciler.EventPreempted && e.Replica == a.Replica.ID
		})
		if !told {
			continue // it gave way before, and goes on now
		}
		winner := catalog.Name(a.Replica.Why[strings.LastIndexByte(a.Replica.Why, ' ')+1:])
		loser := s.models[a.Replica.Model].Model.Class
		if plan.Brake.On() {
			return fmt.Errorf("%s gives way to %s while the brake is set", a.Replica.ID, winner)
		}
		if of := s.models[winner].Model.Class; loser.Rank() >= of.Rank() {
			return fmt.Errorf("%s is %s and gives way to %s, which is %s", a.Replica.ID, loser, winner, of)
		}
		if plan.Health[winner].Coming == 0 {
			return fmt.Errorf("%s gives way to %s, which waits for nothing", a.Replica.ID, winner)
		}
		s.taken++
	}
	return nil
}

// notAboveMax: what runs and is neither lost nor about to be replaced is never
// more than allowed.
func (s *sim) notAboveMax(w reconciler.World, name catalog.Name, most int) error {
	running, excused := 0, 0
	replaced := map[reconciler.ReplicaID]bool{}
	for _, r := range s.replicas {
		if r.Model == name && r.Phase == reconciler.Run && r.Replaces != "" {
			replaced[r.Replaces] = true
		}
	}
	for _, r := range s.replicas {
		if r.Model != name || r.Phase != reconciler.Run {
			continue
		}
		running++
		if replaced[r.ID] || reconciler.StateOf(&r, w.Fleet) == reconciler.StateLost || r.Restart != "" || !r.DrainBy.IsZero() {
			excused++
		}
	}
	if running-excused > most {
		return fmt.Errorf("%s has %d replicas and may have %d", name, running-excused, most)
	}
	return nil
}

// notShort: a model that is short, may start and has no room is short because
// the placer finds none.
func (s *sim) notShort(before reconciler.World, e catalog.Entry, plan reconciler.Plan) error {
	h, ok := plan.Health[e.Model.Name]
	m := s.memory.Models[e.Model.Name]
	if !ok || h.Total+h.Coming >= h.Desired || m.Parked || m.Failures > 0 || m.RetryAt.After(s.now) {
		return nil
	}
	if h.Unplaceable {
		if m.Former != nil && m.Former.Back {
			return nil // it is the definition from before that finds no room
		}
		if before.Fleet.Holds() != nil {
			return nil // room may be kept for those who leave a held place
		}
		for _, o := range plan.Health {
			if o.Coming > 0 {
				return nil // room is kept for those whose room comes
			}
		}
		d, _ := placement.Placer{}.Choose(before.Fleet, reconciler.Request(before.Catalog, &e.Model), nil)
		placedHere := slices.ContainsFunc(plan.Actions, func(a reconciler.Action) bool { return a.Kind == reconciler.Place })
		if d.Placed && !placedHere {
			return fmt.Errorf("%s is called unplaceable and fits on %s: %+v\n%s", e.Model.Name, d.Candidate.Spots[0].Node, h, s.showReplicas())
		}
		return nil
	}
	// One that restarts in place keeps its place until it is gone.
	all := slices.AppendSeq(slices.Clone(before.Replicas), maps.Values(s.replicas))
	inPlace := slices.ContainsFunc(all, func(r reconciler.Replica) bool {
		return r.Model == e.Model.Name && r.Restart == reconciler.InPlace
	})
	lost := slices.ContainsFunc(all, func(r reconciler.Replica) bool {
		return r.Model == e.Model.Name && reconciler.StateOf(&r, before.Fleet) == reconciler.StateLost
	})
	kept := plan.Brake.On() && lost
	if !inPlace && !kept {
		return fmt.Errorf("%s has %d of %d, fails nowhere, and nothing was tried", e.Model.Name, h.Total, h.Desired)
	}
	return nil
}

// rest lets everything heal and waits: all must come to rest, with what is
// wanted ready, or a reason why not.
func (s *sim) rest() error {
	clear(s.broken)
	s.holds = nil
	for _, id := range slices.Sorted(maps.Keys(s.nodes)) {
		s.comeBack(id, false)
		s.line("node %s ready", id)
	}
	for id := range s.replicas {
		delete(s.traffic.Replicas, id)
	}
	s.traffic.Models = map[catalog.Name]reconciler.ModelTraffic{}
	for _, name := range slices.Sorted(maps.Keys(s.models)) {
		s.line("retry %s", name)
	}
	quiet, taken := 0, s.taken
	for range 400 {
		s.now = s.now.Add(5 * time.Second)
		s.agents(1)
		before := len(s.log)
		if err := s.look(); err != nil {
			return err
		}
		if len(s.log)-before > 1 {
			quiet = 0
			if s.taken-taken > 20 {
				return fmt.Errorf("%d replicas gave way without an event", s.taken-taken)
			}
		} else if quiet++; quiet > 70 { // longer than any back-off
			return s.satisfied()
		}
	}
	return fmt.Errorf("it does not come to rest")
}

func (s *sim) satisfied() error {
	for name, h := range s.last.Health {
		if h.Ready != h.Total || h.Total > h.Desired {
			return fmt.Errorf("%s rests with %d ready of %d, and %d wanted", name, h.Ready, h.Total, h.Desired)
		}
		if h.Total < h.Desired && !h.Unplaceable {
			return fmt.Errorf("%s rests with %d of %d without a reason", name, h.Total, h.Desired)
		}
		if h.Preempted > h.Desired-h.Total || (h.Preempted > 0) != (h.HeldFor != "") {
			return fmt.Errorf("%s rests with %d of %d, %d of them taken by %q", name, h.Total, h.Desired, h.Preempted, h.HeldFor)
		}
		if m := s.memory.Models[name]; h.Unplaceable && m.Failures == 0 && (m.Former == nil || !m.Former.Back) {
			if err := s.takesAll(name); err != nil {
				return err
			}
		}
	}
	for _, r := range s.replicas {
		if r.Phase != reconciler.Run {
			return fmt.Errorf("%s never ends its %s", r.ID, r.Phase)
		}
		if r.Restart == reconciler.Rollout || r.Restart == reconciler.RolloutBorrow {
			return fmt.Errorf("the rollout of %s never ends", r.ID)
		}
	}
	return nil
}

// takesAll: a model that rests without room has no lower class that could make
// it.
func (s *sim) takesAll(name catalog.Name) error {
	m := s.models[name].Model
	var standing []placement.Occupant
	for id, r := range s.replicas {
		standing = append(standing, placement.Occupant{Replica: string(id), Model: r.Model, Class: s.models[r.Model].Model.Class})
	}
	if p := (placement.Placer{}).Preempt(s.fleet(), reconciler.Request(catalog.NewIndex(0, nil), &m), standing, nil); p.Decision.Placed {
		return fmt.Errorf("%s (%s) rests without room, and %s", name, m.Class, p)
	}
	return nil
}
