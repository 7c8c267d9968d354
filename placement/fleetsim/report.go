package fleetsim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/facility"
	"llmgw.io/llmgw/placement/reconciler"
)

// Report is what became of a run. Counts are of the whole of it.
type Report struct {
	For            time.Duration
	Nodes, Devices int
	Events         int

	// Problems are sentences about labels of the fleet that contradict each other,
	// at most maxProblems, and Untold how many more there are. The run goes on with
	// what the nodes say.
	Problems []string
	Untold   int

	// Passes are looks of the control loop; Stale those that were decided anew
	// because the fleet had changed, Verified those that held all the same.
	Passes, Stale, Verified int
	Takeovers               int
	StoreFailures           int

	// Placed are replicas that were placed: Moved of them took over from one that
	// still ran, Replaced from one that was lost. Preempted gave way to a higher
	// class, Failed failed, Lost went with their node, Stopped are over.
	Placed, Moved, Replaced          int
	Preempted, Failed, Lost, Stopped int
	Parked, BrakeSet, Orphans        int
	// NodesSilent is how often a node was not heard for so long that nothing new
	// is placed there, NodesLost that it counted as lost.
	NodesSilent, NodesLost        int
	ReadyP50, ReadyP99, ReadyMost time.Duration
	Requests, Served              int
	// Waited of those that were served waited for a replica; WaitP99 is how long.
	Waited  int
	WaitP99 time.Duration
	// Refused got the answer that waiting is hopeless, Unserved waited in vain,
	// Broken lost their engine.
	Refused, Unserved, Broken int

	// Models are by name; Use is the devices in use over time.
	Models []ModelReport
	Use    []Use

	// Converged is how long after everything was whole again what ran was what is
	// wanted. Zero: it was at once, or nobody asked.
	Converged time.Duration

	// Violations are laws that broke, at most maxViolations, and Omitted how many
	// more there were. Notes are orders that were refused.
	Violations []Violation
	Omitted    int
	Notes      []string

	ready  []time.Duration
	waits  []time.Duration
	models map[catalog.Name]*ModelReport
	// short is since when a model has been without room.
	short map[catalog.Name]time.Time
}

// ModelReport is one model's share.
type ModelReport struct {
	Name                      catalog.Name
	Placed, Failed, Preempted int
	// Unplaceable is how long it was short for want of room.
	Unplaceable time.Duration
	// Ready, Total and Desired are as of the end.
	Ready, Total, Desired int
	readies               []time.Duration
	ReadyP50              time.Duration
}

// Use is how much of the fleet is given out at a time.
type Use struct {
	At                 time.Time
	Devices, Of, Lost  int
	Replicas, Requests int
}

// Violation is a law that broke.
type Violation struct {
	At   time.Time
	Law  string
	Text string
}

const (
	maxViolations = 20
	maxNotes      = 20
	maxProblems   = 5
	useSteps      = 24
)

func newReport(sc *Scenario, o Options) *Report {
	problems := facility.Analyze(sc.fleet.Nodes(), nil, nil).Problems
	told := min(len(problems), maxProblems)
	return &Report{For: o.For, Nodes: len(sc.fleet.Nodes()), Problems: problems[:told], Untold: len(problems) - told}
}

func (r *Report) note(at time.Time, text string) {
	if len(r.Notes) < maxNotes {
		r.Notes = append(r.Notes, clock(at)+" "+text)
	}
}

// violate notes that a law broke, and ends the run where that is asked for.
func (s *sim) violate(law, format string, args ...any) {
	r := s.report
	if len(r.Violations) == maxViolations {
		r.Omitted++
		return
	}
	r.Violations = append(r.Violations, Violation{At: s.now, Law: law, Text: fmt.Sprintf(format, args...)})
	s.over = s.over || s.o.FirstOnly
}

func (r *Report) model(name catalog.Name) *ModelReport {
	if r.models == nil {
		r.models = map[catalog.Name]*ModelReport{}
		r.short = map[catalog.Name]time.Time{}
	}
	m := r.models[name]
	if m == nil {
		m = &ModelReport{Name: name}
		r.models[name] = m
	}
	return m
}

// passed counts a plan that was kept.
func (r *Report) passed(c *control, plan reconciler.Plan) {
	r.Passes++
	for _, a := range plan.Actions {
		switch a.Kind {
		case reconciler.Place:
			r.Placed++
			r.model(a.Replica.Model).Placed++
			if a.Replica.Replaces != "" {
				r.replaced(c, a.Replica.Replaces)
			}
		case reconciler.Forget:
			c.s.router.forget(a.Replica.ID)
		case reconciler.Update:
		}
	}
	for _, e := range plan.Events {
		r.happened(c, e)
	}
	for _, name := range sortedNames(plan.Health) {
		r.tellShort(c.s.now, name, plan.Health[name].Unplaceable)
	}
}

func (r *Report) replaced(c *control, id reconciler.ReplicaID) {
	for i := range c.replicas {
		if c.replicas[i].ID == id && reconciler.StateOf(&c.replicas[i], c.fleet.Snapshot()) != reconciler.StateLost {
			r.Moved++
			return
		}
	}
	r.Replaced++
}

func (r *Report) happened(c *control, e reconciler.Event) {
	name := catalog.Name(e.Model)
	switch e.Kind {
	case reconciler.EventReady:
		for i := range c.replicas {
			if c.replicas[i].ID == e.Replica {
				took := e.At.Sub(c.replicas[i].CreatedAt)
				r.ready = append(r.ready, took)
				m := r.model(name)
				m.readies = append(m.readies, took)
			}
		}
	case reconciler.EventFailed:
		r.Failed++
		r.model(name).Failed++
	case reconciler.EventPreempted:
		r.Preempted++
		r.model(name).Preempted++
	case reconciler.EventLost:
		r.Lost++
	case reconciler.EventStopped:
		r.Stopped++
	case reconciler.EventParked:
		r.Parked++
	case reconciler.EventOrphan:
		r.Orphans++
	case reconciler.EventBrakeSet:
		r.BrakeSet++
	case reconciler.EventPlaced, reconciler.EventMoved, reconciler.EventUnplaceable, reconciler.EventHalted, reconciler.EventBrakeReleased:
	}
}

// silences counts the nodes that a look at the clock made silent.
func (r *Report) silences(before, after *inventory.Snapshot) {
	if before == after {
		return
	}
	was := before.Nodes()
	for i, n := range after.Nodes() {
		if n.Hearing == was[i].Hearing {
			continue
		}
		switch n.Hearing {
		case inventory.Unreachable:
			r.NodesSilent++
		case inventory.Lost:
			r.NodesLost++
		case inventory.Heard:
		}
	}
}

func (r *Report) tellShort(now time.Time, name catalog.Name, short bool) {
	m := r.model(name)
	since, was := r.short[name]
	switch {
	case short && !was:
		r.short[name] = now
	case !short && was:
		m.Unplaceable += now.Sub(since)
		delete(r.short, name)
	}
}

func (r *Report) served(waited time.Duration) {
	r.Served++
	if waited > 0 {
		r.Waited++
		r.waits = append(r.waits, waited)
	}
}

// watchUse looks now and then how much is given out.
func (s *sim) watchUse() {
	every := max(time.Minute, s.o.For/useSteps)
	var look func()
	look = func() {
		s.report.Use = append(s.report.Use, s.use())
		s.after(every, look)
	}
	s.after(every, look)
}

func (s *sim) use() Use {
	u := Use{At: s.now, Replicas: len(s.control.replicas)}
	for _, n := range s.control.fleet.Snapshot().Nodes() {
		for _, d := range n.Facts.Devices {
			u.Of++
			if !n.DeviceUse(d.Index).Free() {
				u.Devices++
			}
		}
	}
	for _, list := range s.router.flights {
		u.Requests += len(list)
	}
	return u
}

// close sums up at the end.
func (r *Report) close(s *sim) {
	r.ReadyP50, r.ReadyP99, r.ReadyMost = share100(r.ready, 50), share100(r.ready, 99), share100(r.ready, 100)
	r.WaitP99 = share100(r.waits, 99)
	for _, name := range sortedNames(r.models) {
		r.tellShort(s.now, name, false)
		m := r.models[name]
		h := s.control.plan.Health[name]
		m.Ready, m.Total, m.Desired = h.Ready, h.Total, h.Desired
		m.ReadyP50 = share100(m.readies, 50)
		r.Models = append(r.Models, *m)
	}
}

// share100 is the span that so many of a hundred do not exceed.
func share100(ds []time.Duration, percent int) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	ds = slices.Sorted(slices.Values(ds))
	return ds[(len(ds)-1)*percent/100]
}

func clock(t time.Time) string {
	d := t.Sub(Begin())
	return fmt.Sprintf("%dd%02d:%02d:%02d.%03d", int(d.Hours())/24, int(d.Hours())%24, int(d.Minutes())%60, int(d.Seconds())%60, d.Milliseconds()%1000)
}

// Broke reports whether a law broke.
func (r *Report) Broke() bool { return len(r.Violations) > 0 }

// String is the report for people.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d nodes, %d devices, %s of virtual time, %d events\n", r.Nodes, r.Devices, r.For, r.Events)
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "note       %s\n", p)
	}
	if r.Untold > 0 {
		fmt.Fprintf(&b, "note       and %d more such labels\n", r.Untold)
	}
	b.WriteByte('\n')
	fmt.Fprintf(&b, "replicas   %d placed: %d moved, %d in place of lost ones; %d preempted, %d failed, %d lost, %d stopped\n",
		r.Placed, r.Moved, r.Replaced, r.Preempted, r.Failed, r.Lost, r.Stopped)
	fmt.Fprintf(&b, "ready      after %s at the median, %s for 99 of 100, %s at most\n", span(r.ReadyP50), span(r.ReadyP99), span(r.ReadyMost))
	fmt.Fprintf(&b, "requests   %d: %d served, %d of them after a wait (%s for 99 of 100); %d refused, %d waited in vain, %d broken\n",
		r.Requests, r.Served, r.Waited, span(r.WaitP99), r.Refused, r.Unserved, r.Broken)
	fmt.Fprintf(&b, "control    %d passes, %d decided anew and %d verified after a change; %d takeovers, %d times without a store\n",
		r.Passes, r.Stale, r.Verified, r.Takeovers, r.StoreFailures)
	fmt.Fprintf(&b, "trouble    %d models parked, the brake set %d times, %d nodes unreachable, %d of them lost, %d shards that nobody had ordered\n",
		r.Parked, r.BrakeSet, r.NodesSilent, r.NodesLost, r.Orphans)
	r.writeModels(&b)
	r.writeUse(&b)
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note       %s\n", n)
	}
	fmt.Fprintf(&b, "\nlaws       %d violations\n", len(r.Violations)+r.Omitted)
	for _, v := range r.Violations {
		fmt.Fprintf(&b, "  %s  %s: %s\n", clock(v.At), v.Law, v.Text)
	}
	if r.Omitted > 0 {
		fmt.Fprintf(&b, "  and %d more\n", r.Omitted)
	}
	return b.String()
}

func (r *Report) writeModels(b *strings.Builder) {
	if len(r.Models) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%-24s %9s %7s %7s %9s %11s %12s\n", "model", "at end", "placed", "failed", "preempted", "ready after", "without room")
	for _, m := range r.Models {
		fmt.Fprintf(b, "%-24s %9s %7d %7d %9d %11s %12s\n", m.Name, fmt.Sprintf("%d/%d", m.Ready, m.Desired), m.Placed, m.Failed, m.Preempted,
			span(m.ReadyP50), span(m.Unplaceable))
	}
}

func (r *Report) writeUse(b *strings.Builder) {
	if len(r.Use) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%-16s %8s %9s %9s\n", "at", "devices", "replicas", "requests")
	for _, u := range r.Use {
		fmt.Fprintf(b, "%-16s %7.1f%% %9d %9d\n", clock(u.At), 100*float64(u.Devices)/float64(max(1, u.Of)), u.Replicas, u.Requests)
	}
}

func span(d time.Duration) string { return d.Round(100 * time.Millisecond).String() }

func sortedNames[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
