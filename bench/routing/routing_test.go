package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The picker answers to routes and to nothing else, goes back to where a prompt's
// beginning is cached, and away from there when too much is queued.
func TestPicker(t *testing.T) {
	t.Parallel()
	in := strings.Join([]string{
		`{"op":"reset","replicas":2,"kv_tokens":100000,"block_tokens":512,"prefill_tokens_per_s":8000,"ms_per_output_token":20,"seed":7,"kv_events":true}`,
		`{"op":"route","id":1,"t_ms":0,"input_tokens":2048,"output_tokens":9,"blocks":[1,2,3,4],"view":[{},{}]}`,
		`{"op":"first_token","t_ms":256,"replica":0,"id":1}`,
		`{"op":"kv","t_ms":256,"replica":0,"stored":[1]}`,
		`{"op":"done","t_ms":400,"replica":0,"id":1}`,
		`{"op":"route","id":2,"t_ms":5000,"input_tokens":2560,"output_tokens":9,"blocks":[1,2,3,4,5],"view":[{},{}]}`,
		`{"op":"route","id":3,"t_ms":5000,"input_tokens":8192,"output_tokens":9,"blocks":[1,2,3,7,8,9,10,11,12,13,14,15,16,17,18,19],"view":[{},{}]}`,
		`{"op":"route","id":4,"t_ms":5001,"input_tokens":1024,"output_tokens":9,"blocks":[20,21],"view":[{},{}]}`,
		``,
	}, "\n")
	var out bytes.Buffer
	if err := play(strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	answers := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(answers) != 4 {
		t.Fatalf("four routes were answered by %q", answers)
	}
	first := answers[0]
	for i, want := range []bool{true, true, true, false} {
		if same := answers[i] == first; same != want {
			t.Errorf("request %d went where the first one did: %v, all: %q", i+1, same, answers)
		}
	}
}

func TestPickerComplains(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"nonsense":         "no JSON",
		`{"op":"route"}`:   "before its reset",
		`{"op":"unheard`:   "no JSON",
		`{"op":"unheard"}`: "before its reset",
	} {
		if err := play(strings.NewReader(in), &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, want one with %q", in, err, want)
		}
	}
}

func TestReadTable(t *testing.T) {
	t.Parallel()
	rows, err := read(`12 requests in 3 s

| policy | hit % of tokens | of the best possible | TTFT p50 ms | p90 | p99 | mean | busiest/mean prefill |
|---|---|---|---|---|---|---|---|
| least TTFT, own view | 9.1 | 24 % | 1046 | 3857 | 11172 | 1692 | 1.03 |
| exec:x picker | 9.6 | 26 % | 1050 | 3717 | 10558 | 1650 | 1.02 |
`)
	want := []row{{"least TTFT, own view", 1046, 11172, 1692}, {"exec:x picker", 1050, 10558, 1650}}
	if diff := cmp.Diff(want, rows, cmp.AllowUnexported(row{})); diff != "" || err != nil {
		t.Errorf("%v:\n%s", err, diff)
	}
	if got := bestOf(rows); got.name != "exec:x picker" {
		t.Errorf("the best is %+v", got)
	}
	if _, err := read("no table"); err == nil {
		t.Error("a simulator that prints no table is taken for one")
	}
}

func TestReadDecision(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]struct {
		met bool
		row string
	}{
		"goos: linux\nBenchmarkDecision-2   \t  200000\t      7634 ns/op\t       0 B/op\t       0 allocs/op\nPASS\n":                                                         {true, "| 7.6 µs, 0 allocations | 10 µs, 0 | met |"},
		"BenchmarkDecision-2 10 10634 ns/op 0 B/op 0 allocs/op":                                                                                                              {false, "| 10.6 µs, 0 allocations | 10 µs, 0 | missed |"},
		"BenchmarkDecision-2 10 634 ns/op 16 B/op 1 allocs/op":                                                                                                               {false, "| 0.6 µs, 1 allocations | 10 µs, 0 | missed |"},
		"BenchmarkDecision-2 10 12634 ns/op 0 B/op 0 allocs/op\nBenchmarkDecision-2 10 9634 ns/op 0 B/op 0 allocs/op\nBenchmarkDecision-2 10 19634 ns/op 0 B/op 0 allocs/op": {true, "| 9.6 µs, 0 allocations | 10 µs, 0 | met |"},
	} {
		var out bytes.Buffer
		met, err := decision(&out, strings.NewReader(in))
		if err != nil || met != want.met || !strings.Contains(out.String(), want.row) {
			t.Errorf("%q: %v, %v:\n%s", in, met, err, &out)
		}
	}
	if _, err := decision(&bytes.Buffer{}, strings.NewReader("PASS")); err == nil {
		t.Error("no benchmark is taken for one")
	}
}
