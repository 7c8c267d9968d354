package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// row is one line of the harness's tables: who, and figures by column. A column
// that stands twice has the number of its place behind it, from the second on.
type row struct {
	trace, policy, seed string
	of                  map[string]float64
}

func (r row) ours() bool { return strings.Contains(r.policy, " policy ") }

// rows reads a table of the harness. Names of policies may have spaces, so the
// figures are counted from the right; lead is how many words a line has before
// its policy, and whether a seed follows it.
func rows(path string, lead int, seeded bool) ([]row, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var head []string
	var out []row
	for s := bufio.NewScanner(f); s.Scan(); {
		words := strings.Fields(strings.NewReplacer("p50 us", "p50us", "p99 us", "p99us", "explain us", "explainus", "1st fail", "1stfail").Replace(s.Text()))
		if head == nil {
			head = columns(words, lead+1)
			if seeded {
				head = head[1:]
			}
			continue
		}
		at := len(words) - len(head)
		if at < lead+1 {
			return nil, fmt.Errorf("%s: not a line of a table: %s", path, s.Text())
		}
		r := row{of: map[string]float64{}}
		for i, name := range head {
			v, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSuffix(words[at+i], "%"), "us"), 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			r.of[name] = v
		}
		if seeded {
			at--
			r.seed = words[at]
		}
		r.trace, r.policy = strings.Join(words[:lead], " "), strings.Join(words[lead:at], " ")+" "
		out = append(out, r)
	}
	return out, nil
}

func columns(words []string, skip int) []string {
	seen := map[string]int{}
	var out []string
	for _, w := range words[skip:] {
		if seen[w]++; seen[w] > 1 {
			w += strconv.Itoa(seen[w])
		}
		out = append(out, w)
	}
	return out
}

// fills reads the lines of the harness's fill: the policy, then key=value.
func fills(path string) ([]row, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out []row
	for line := range strings.Lines(string(b)) {
		r := row{of: map[string]float64{}}
		var name []string
		for _, w := range strings.Fields(line) {
			k, v, ok := strings.Cut(w, "=")
			if !ok {
				name = append(name, w)
			} else if n, err := strconv.ParseFloat(v, 64); err == nil {
				r.of[k] = n
			}
		}
		r.policy = strings.Join(name, " ") + " "
		out = append(out, r)
	}
	return out, nil
}

// timed reads what the policy timed of itself.
func timed(path string) ([]times, error) { return decoded[times](path) }

// decoded reads a file of JSON lines.
func decoded[T any](path string) ([]T, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []T
	for dec := json.NewDecoder(f); ; {
		var t T
		switch err := dec.Decode(&t); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, t)
	}
}

// table prints every figure that was measured beside its goal.
func table(w io.Writer, dir string) error {
	s := sheet{w: w}
	fmt.Fprintf(w, "| %-30s | %-46s | %10s | %12s |\n", "of", "figure", "is", "goal")
	for _, part := range []struct {
		file string
		add  func(path string) error
	}{
		{"openb.txt", s.openb},
		{"lists.txt", s.lists},
		{"llm.txt", s.llm},
		{"moves.txt", s.moves},
		{"large.txt", s.large},
		{"fill.jsonl", s.fill},
		{"growth.jsonl", s.growth},
		{"loop.jsonl", s.loop},
		{"peers.txt", s.peers},
	} {
		path := filepath.Join(dir, part.file)
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			continue // not asked for in this run
		}
		if err := part.add(path); err != nil {
			return err
		}
	}
	switch {
	case s.lines == 0:
		return fmt.Errorf("nothing was measured in %s", dir)
	case s.missed > 0:
		return fmt.Errorf("%d of %d goals are missed", s.missed, s.lines)
	}
	return nil
}
