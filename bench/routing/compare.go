package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// load is what the fleet is asked for.
type load struct {
	name string
	args []string // one that ends in .gz is a trace's file
}

// loads are those that the goal names.
func loads() []load {
	return []load{
		{name: "conversation x1", args: []string{"-trace", conversation}},
		{name: "conversation x2", args: []string{"-trace", conversation, "-speed", "2"}},
		{name: "synthetic x1", args: []string{"-trace", synthetic}},
		{name: "tenants, 15 req/s", args: []string{"-rate", "15"}},
		{name: "tenants, 25 req/s", args: []string{"-rate", "25"}},
	}
}

const (
	conversation = "mooncake_conversation_trace.jsonl.gz"
	synthetic    = "mooncake_synthetic_trace.jsonl.gz"
	// goal is how much worse than the best rule of the simulator's own the mean
	// time to the first token may be.
	goal = 1.1
	// goalNanos is what a decision may cost among 32 replicas, for a prompt of
	// 8,192 tokens, and goalAllocs how often it may allocate.
	goalNanos, goalAllocs = 10_000, 0
)

// compare plays every load with the router's picker and with every rule that the
// simulator has.
func compare(w io.Writer, simulator, traces string) (met bool, err error) {
	self, err := os.Executable()
	if err != nil {
		return false, err
	}
	met = true
	fmt.Fprintln(w, "| load | llmgw: mean TTFT ms | p50 | p99 | best built-in rule | its mean ms | ratio | goal | |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|")
	for _, l := range loads() {
		rows, err := run(simulator, self, traces, l)
		if err != nil {
			return false, fmt.Errorf("%s: %w", l.name, err)
		}
		ours, best := rows[len(rows)-1], bestOf(rows[:len(rows)-1])
		ratio := ours.mean / best.mean
		met = met && ratio <= goal
		fmt.Fprintf(w, "| %s | %.0f | %.0f | %.0f | %s | %.0f | %.3f | %.1f | %s |\n",
			l.name, ours.mean, ours.p50, ours.p99, best.name, best.mean, ratio, goal, verdict(ratio <= goal))
	}
	return met, nil
}

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "missed"
}

// decision reads the output of the benchmark of one decision. Of several runs
// the quickest counts, since what else a machine does only adds, and the most
// allocations.
func decision(w io.Writer, in io.Reader) (met bool, err error) {
	text, err := io.ReadAll(in)
	if err != nil {
		return false, err
	}
	best, most := math.Inf(1), 0
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 8 || !strings.HasPrefix(f[0], "BenchmarkDecision") || f[3] != "ns/op" || f[7] != "allocs/op" {
			continue
		}
		nanos, err := strconv.ParseFloat(f[2], 64)
		if err != nil {
			return false, err
		}
		allocs, err := strconv.Atoi(f[6])
		if err != nil {
			return false, err
		}
		best, most = min(best, nanos), max(most, allocs)
	}
	if math.IsInf(best, 1) {
		return false, errors.New("the input has no result of BenchmarkDecision; run it with -benchmem")
	}
	met = best <= goalNanos && most <= goalAllocs
	fmt.Fprintf(w, "\n| a decision: 32 replicas, 8,192 tokens | goal | |\n|---|---|---|\n| %.1f µs, %d allocations | %.0f µs, %d | %s |\n",
		best/1000, most, goalNanos/1000.0, goalAllocs, verdict(met))
	return met, nil
}

// row is what a rule made of a load, in milliseconds.
type row struct {
	name           string
	p50, p99, mean float64
}

func bestOf(rows []row) row {
	best := rows[0]
	for _, r := range rows {
		if r.mean < best.mean {
			best = r
		}
	}
	return best
}

func run(simulator, self, traces string, l load) ([]row, error) {
	args := append([]string{"-policy", "all", "-policy", "exec:" + self + " picker"}, l.args...)
	for i, a := range args {
		if strings.HasSuffix(a, ".gz") {
			args[i] = filepath.Join(traces, a)
		}
	}
	var out, trouble bytes.Buffer
	cmd := exec.Command(simulator, args...)
	cmd.Stdout, cmd.Stderr = &out, &trouble
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(trouble.String()))
	}
	return read(out.String())
}

// read takes the simulator's table apart: name, two shares of hits, TTFT p50, p90,
// p99 and mean, imbalance.
func read(table string) ([]row, error) {
	var rows []row
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 8 || strings.HasPrefix(cells[0], "-") || strings.TrimSpace(cells[0]) == "policy" {
			continue
		}
		r := row{name: strings.TrimSpace(cells[0])}
		for cell, into := range map[int]*float64{3: &r.p50, 5: &r.p99, 6: &r.mean} {
			v, err := strconv.ParseFloat(strings.TrimSpace(cells[cell]), 64)
			if err != nil {
				return nil, fmt.Errorf("the simulator's table has %q where a number is due", strings.TrimSpace(cells[cell]))
			}
			*into = v
		}
		rows = append(rows, r)
	}
	if len(rows) < 2 {
		return nil, errors.New("the simulator's table has no rule to compare with")
	}
	return rows, nil
}
