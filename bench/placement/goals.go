package main

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
)

// sheet prints figures and counts those that miss their goal.
type sheet struct {
	w             io.Writer
	lines, missed int
	// index are the rows of the harness's own index on the smaller fleet.
	index []row
}

func (s *sheet) most(of, figure string, is, goal float64) {
	s.say(of, figure, is, goal, "<=", is <= goal)
}

func (s *sheet) least(of, figure string, is, goal float64) {
	s.say(of, figure, is, goal, ">=", is >= goal)
}

func (s *sheet) say(of, figure string, is, goal float64, sign string, met bool) {
	verdict := "met"
	s.lines++
	if !met || math.IsNaN(is) {
		verdict = "MISSED"
		s.missed++
	}
	fmt.Fprintf(s.w, "| %-30s | %-46s | %10s | %12s | %s\n", of, figure, number(is), sign+" "+number(goal), verdict)
}

func number(v float64) string {
	if math.Abs(v) >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

// openb is the default list of tasks over the published seeds.
func (s *sheet) openb(path string) error {
	all, err := rows(path, 1, false)
	if err != nil {
		return err
	}
	us, fgd := pair(all, "default")
	s.most("openb default", "unallocated devices at 100 %, %", us.of["unall@100"], 4.3)
	s.most("openb default", "unallocated devices at 130 %, %", us.of["unall@130"], 4.2)
	s.most("openb default", "refused tasks of several devices", us.of["multi"], 1.1*fgd.of["multi"])
	return nil
}

// lists are all the others, where ours leaves less unallocated than FGD.
func (s *sheet) lists(path string) error {
	all, err := rows(path, 1, false)
	if err != nil {
		return err
	}
	for _, r := range all {
		if r.ours() {
			_, fgd := pair(all, r.trace)
			s.most("openb "+r.trace, "unallocated devices at 100 %, beside FGD's", r.of["unall@100"], fgd.of["unall@100"])
			s.most("openb "+r.trace, "unallocated devices at 130 %, beside FGD's", r.of["unall@130"], fgd.of["unall@130"])
		}
	}
	return nil
}

// pair is ours and the other policy's row of a list.
func pair(all []row, trace string) (us, other row) {
	for _, r := range all {
		switch {
		case r.trace != trace:
		case r.ours():
			us = r
		default:
			other = r
		}
	}
	return us, other
}

// llm is the fleet of a thousand nodes, seed by seed beside the harness's index.
func (s *sheet) llm(path string) error {
	all, err := rows(path, 0, true)
	if err != nil {
		return err
	}
	by := func(seed, policy string) row {
		for _, r := range all {
			if r.seed == seed && (policy == "" && r.ours() || policy != "" && strings.HasPrefix(r.policy, policy+" ")) {
				return r
			}
		}
		return row{}
	}
	for _, r := range all {
		if !r.ours() || r.seed == "mean" || r.seed == "min" || r.seed == "max" {
			continue
		}
		index, of := by(r.seed, "index"), "llm, seed "+r.seed
		s.index = append(s.index, index)
		s.least(of, "after churn, of the bound", r.of["/bound"], better(index.of["/bound"]))
		s.least(of, "at 100 %, of the bound", r.of["/bound2"], better(index.of["/bound2"]))
		s.least(of, "shards where the weights are, %", r.of["local"], 85)
		s.most(of, "decisions against the rules", r.of["viol"], 0)
	}
	us, random := by("mean", ""), by("mean", "random")
	s.most("llm, mean", "a model's largest share in a rack, %", us.of["rackmax"], random.of["rackmax"])
	return nil
}

// moves is the same fleet where a few replicas may be moved or stopped.
func (s *sheet) moves(path string) error {
	all, err := rows(path, 0, true)
	if err != nil {
		return err
	}
	for _, r := range all {
		if r.seed == "mean" || r.seed == "min" || r.seed == "max" {
			continue
		}
		of := "llm with moves, seed " + r.seed
		s.least(of, "after churn, of the bound", r.of["/bound"], 0.99)
		s.least(of, "at 100 %, of the bound", r.of["/bound2"], 0.99)
		s.most(of, "replicas moved or stopped, %", r.of["moved"]+r.of["preempt"], 2)
		s.most(of, "decisions against the rules", r.of["viol"], 0)
		for _, o := range s.index {
			if o.seed == r.seed {
				s.least(of, "groups placed, %", r.of["gangs"], o.of["gangs"]+2)
			}
		}
	}
	return nil
}

// better is a point more, or half of what is left.
func better(index float64) float64 { return min(index+0.01, (1+index)/2) }

// large is the fleet of ten thousand nodes, beside the harness's index.
func (s *sheet) large(path string) error {
	all, err := rows(path, 0, true)
	if err != nil {
		return err
	}
	var us, index row
	for _, r := range all {
		if r.ours() {
			us = r
		} else {
			index = r
		}
	}
	of := fmt.Sprintf("llm, %.0f nodes", us.of["nodes"])
	for _, c := range []struct{ column, figure string }{
		{"/bound", "after churn, of the bound"},
		{"/bound2", "at 100 %, of the bound"},
		{"/bound3", "at 130 %, of the bound"},
		{"gangs", "groups placed, %"},
		{"to100", "groups placed until 100 %, %"},
		{"local", "shards where the weights are, %"},
	} {
		s.least(of, c.figure, us.of[c.column], index.of[c.column])
	}
	s.least(of, "replicas lost to failures and placed again, %", 100*us.of["back"]/us.of["lost"], 100*index.of["back"]/index.of["lost"])
	s.most(of, "a model's largest share in a rack, %", us.of["rackmax"], index.of["rackmax"])
	s.most(of, "decisions against the rules", us.of["viol"], 0)
	return nil
}

// fill is the speed on one core, as the policy timed it.
func (s *sheet) fill(path string) error {
	all, err := timed(path)
	if err != nil {
		return err
	}
	for _, t := range all {
		of := fmt.Sprintf("fill, %d nodes", t.Nodes)
		if t.Groups > 0 {
			s.most(fmt.Sprintf("llm, %d nodes", t.Nodes), "a group's decision, 99th percentile, us", t.GroupP99, 200)
			continue
		}
		if t.PerCPUSecond > 0 {
			s.least(of, "placements a second of processor time", t.PerCPUSecond, 150_000)
		} else {
			s.least(of, "placements a second", t.PerSecond, 150_000)
		}
		s.most(of, "a decision, 99th percentile, us", t.P99, 50)
	}
	return nil
}

// growth compares ten times the nodes.
func (s *sheet) growth(path string) error {
	all, err := timed(path)
	if err != nil || len(all) < 2 {
		return err
	}
	small, large := all[0], all[len(all)-1]
	s.most(fmt.Sprintf("fill, %d to %d nodes", small.Nodes, large.Nodes), "slower by", small.rate()/large.rate(), 10)
	return nil
}

// loop is what the control loop does on a large fleet, by processor time.
func (s *sheet) loop(path string) error {
	all, err := decoded[looked](path)
	if err != nil {
		return err
	}
	for _, l := range all {
		of := fmt.Sprintf("loop, %d nodes", l.Nodes)
		s.most(of, fmt.Sprintf("a pass with nothing to do, %d replicas, ms", l.Replicas), l.Idle, 5)
		s.most(of, "a pass with nothing to do, allocations", l.IdleAllocs, 100)
		s.most(of, "a pass with nothing to do, 100 beats, ms", l.Beats, 5)
		s.most(of, fmt.Sprintf("a PDU lost, %d replicas, decided in, ms", l.Lost/lossRepeats), l.Loss, 50)
		s.most(of, "a PDU lost, others that were touched", float64(l.Others), 0)
		s.most(of, "a PDU lost, placed after a lower class", float64(l.Disorder), 0)
		s.most(of, "headroom of 64, ms", l.Headroom, 5)
		s.most(of, "explain, ms", l.Explain, 3)
		s.most(of, "explain with a fix, ms", l.Fix, 100)
	}
	return nil
}

// perCPUSecond is a peer's placements a second in which it had a processor. One
// that does not say how long it had one is taken to have had it always, and a
// peer that had two at times is not taken to be quicker for that.
func (r row) perCPUSecond() float64 {
	if cpu := r.of["cpu"]; cpu > 0 && cpu < 1 {
		return r.of["placements/s"] / cpu
	}
	return r.of["placements/s"]
}

// peers are general schedulers at the same work in the same minutes.
func (s *sheet) peers(path string) error {
	all, err := fills(path)
	if err != nil {
		return err
	}
	own, err := timed(filepath.Join(filepath.Dir(path), "fill.jsonl"))
	if err != nil {
		return err
	}
	ours := 0.0
	for _, t := range own {
		if t.Groups == 0 {
			ours = t.rate()
		}
	}
	for _, r := range all {
		if r.of["placements/s"] > 0 {
			s.least(strings.TrimSpace(r.policy), "ours, times as fast", ours/r.perCPUSecond(), 1000)
		} else {
			fmt.Fprintf(s.w, "| %s\n", strings.TrimSpace(r.policy))
		}
	}
	return nil
}
