package main

import (
	"encoding/json"
	"os"
	"slices"
	"time"
)

// clock adds up what the scheduler itself takes, without the pipe: decisions,
// and keeping up with what the harness changes.
type clock struct {
	Game  string `json:"game"`
	Nodes int    `json:"nodes"`
	// again repeats the run; nil where that is not possible.
	again *again

	all     time.Duration
	singles []time.Duration
	groups  []time.Duration
}

// decide times one decision.
func (c *clock) decide(group bool, f func()) {
	start := time.Now()
	f()
	d := time.Since(start)
	c.all += d
	if group {
		c.groups = append(c.groups, d)
	} else {
		c.singles = append(c.singles, d)
	}
}

// keepUp times what follows from a change.
func (c *clock) keepUp(f func()) {
	start := time.Now()
	f()
	c.all += time.Since(start)
}

// times are a run's as they are written.
type times struct {
	Game      string  `json:"game"`
	Nodes     int     `json:"nodes"`
	Decisions int     `json:"decisions"`
	PerSecond float64 `json:"per_second"`
	// PerCPUSecond is of a repetition without the pipe. Zero: there was none.
	PerCPUSecond float64 `json:"per_cpu_second,omitempty"`
	P50          float64 `json:"p50_us"`
	P99          float64 `json:"p99_us"`
	Groups       int     `json:"groups"`
	GroupP50     float64 `json:"group_p50_us"`
	GroupP99     float64 `json:"group_p99_us"`
}

// rate is how many decisions a second makes, of the processor where that is known.
func (t times) rate() float64 {
	if t.PerCPUSecond > 0 {
		return t.PerCPUSecond
	}
	return t.PerSecond
}

func (c *clock) sum() times {
	t := times{Game: c.Game, Nodes: c.Nodes, Decisions: len(c.singles) + len(c.groups), Groups: len(c.groups)}
	if c.all > 0 {
		t.PerSecond = float64(t.Decisions) / c.all.Seconds()
	}
	t.P50, t.P99 = quantile(c.singles, 50), quantile(c.singles, 99)
	t.GroupP50, t.GroupP99 = quantile(c.groups, 50), quantile(c.groups, 99)
	return t
}

// quantile is in microseconds.
func quantile(of []time.Duration, percent int) float64 {
	if len(of) == 0 {
		return 0
	}
	slices.Sort(of)
	return float64(of[len(of)*percent/100].Nanoseconds()) / 1e3
}

func (c *clock) append(path string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	sum := c.sum()
	if c.again != nil {
		sum.PerCPUSecond = c.again.run()
	}
	if err := json.NewEncoder(f).Encode(sum); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
