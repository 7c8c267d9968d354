package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
)

// goal is one figure and what it must not exceed: the router's CPU time over
// that of a plain reverse proxy of Go's, in the same round.
type goal struct {
	scenario string
	what     string
	most     float64
}

var goals = []goal{
	{"json-c32", "CPU per request, as a ratio of goproxy's", 2.0},
	{"sse-paced-c64", "CPU per request of 64 chunks, as a ratio of goproxy's", 1.3},
}

// sample is what the harness keeps of one scenario against one target.
type sample struct {
	Target, Scenario string
	Round            int
	N, Errors        int
	CPUPerReq        float64
}

// report prints the table and answers whether every goal is met.
func report(w io.Writer, path string) (met bool, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	var results struct {
		Samples []sample `json:"samples"`
	}
	if err := json.Unmarshal(b, &results); err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	met = true
	fmt.Fprintf(w, "| %-14s | %-55s | %6s | %6s | %s\n", "scenario", "figure", "is", "goal", "")
	for _, g := range goals {
		ratio, errors, ok := median(results.Samples, g.scenario)
		verdict := "met"
		if !ok || ratio > g.most || errors > 0 {
			verdict, met = "MISSED", false
		}
		fmt.Fprintf(w, "| %-14s | %-55s | %5.2fx | %5.2fx | %s", g.scenario, g.what, ratio, g.most, verdict)
		if errors > 0 {
			fmt.Fprintf(w, " (%d requests failed)", errors)
		}
		fmt.Fprintln(w)
	}
	return met, nil
}

// median is the median over the rounds of the ratio within a round.
func median(samples []sample, scenario string) (ratio float64, errors int, ok bool) {
	ours, theirs := map[int]float64{}, map[int]float64{}
	for _, s := range samples {
		if s.Scenario != scenario {
			continue
		}
		switch s.Target {
		case "llmgw":
			ours[s.Round] = s.CPUPerReq
			errors += s.Errors
		case "goproxy":
			theirs[s.Round] = s.CPUPerReq
		}
	}
	var ratios []float64
	for round, c := range ours {
		if base := theirs[round]; base > 0 {
			ratios = append(ratios, c/base)
		}
	}
	if len(ratios) == 0 {
		return 0, errors, false
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2], errors, true
}
