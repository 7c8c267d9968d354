package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
)

// results are what the harness and the trials of command faults keep.
type results struct {
	Samples []sample `json:"samples"`
	Idle    []idle   `json:"idle"`
	Faults  faults   `json:"-"`
}

// sample is what the harness keeps of one scenario against one target.
type sample struct {
	Target, Scenario string
	Round            int
	N, Errors        int
	P50, P99         float64 // µs, of a whole answer
	Delay50          float64 // µs, of a chunk, one way
	CPUPerReq        float64 // µs
	Peak, Idle       float64 // MiB
	UpConns, UpReqs  int64
	ReadyMS          float64
}

// idle is what it keeps of streams that are open and wait.
type idle struct {
	Target    string
	Asked     int
	Good      int
	PerStream float64 // KiB
}

// faults are the results of command faults.
type faults struct {
	Gone []struct {
		Route, Stage string
		Trials, Told int
		P99MS        float64
	}
	Bodies       float64
	Sent, Failed int
	HeldMS       float64
}

// row is one figure and what it must not exceed.
type row struct {
	scenario, what string
	is             float64
	there          bool // the figure was measured
	most           float64
	unit           string
	errors         int
}

// report prints the table and answers whether every goal is met.
func report(w io.Writer, path, faultsPath string) (met bool, err error) {
	var r results
	if err := read(path, &r); err != nil {
		return false, err
	}
	if faultsPath != "" {
		if err := read(faultsPath, &r.Faults); err != nil {
			return false, err
		}
	}
	met = true
	fmt.Fprintf(w, "| %-14s | %-62s | %8s | %8s | %s\n", "scenario", "figure", "is", "goal", "")
	for _, g := range r.rows() {
		verdict := "met"
		if !g.there || g.is > g.most || g.errors > 0 {
			verdict, met = "MISSED", false
		}
		is := fmt.Sprintf("%.2f%s", g.is, g.unit)
		if !g.there {
			is = "–"
		}
		fmt.Fprintf(w, "| %-14s | %-62s | %8s | %8s | %s", g.scenario, g.what, is, fmt.Sprintf("%.2f%s", g.most, g.unit), verdict)
		if g.errors > 0 {
			fmt.Fprintf(w, " (%d failed)", g.errors)
		}
		fmt.Fprintln(w)
	}
	return met, nil
}

func read(path string, into any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// of finds the sample of a target in a round.
func (r *results) of(target, scenario string, round int) (sample, bool) {
	i := slices.IndexFunc(r.Samples, func(s sample) bool {
		return s.Target == target && s.Scenario == scenario && s.Round == round
	})
	if i < 0 {
		return sample{}, false
	}
	return r.Samples[i], true
}

// rounds are those of a scenario against a target.
func (r *results) rounds(target, scenario string) (all []sample, errors int) {
	for _, s := range r.Samples {
		if s.Target == target && s.Scenario == scenario {
			all = append(all, s)
			errors += s.Errors
		}
	}
	return all, errors
}

// median fills in the median over the rounds of what each of them gives; those
// that lack something are left out.
func (r *results) median(g row, target string, of func(s sample) (float64, bool)) row {
	samples, errors := r.rounds(target, g.scenario)
	var values []float64
	for _, s := range samples {
		if v, ok := of(s); ok {
			values = append(values, v)
		}
	}
	g.errors = errors
	if g.there = len(values) > 0; g.there {
		slices.Sort(values)
		g.is = values[len(values)/2]
	}
	return g
}
