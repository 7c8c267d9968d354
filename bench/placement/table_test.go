package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTable reads what the harness prints, and says of every figure whether its
// goal is met.
func TestTable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("openb.txt", `trace          policy         unall@100 unall@130  frag@100  frag@130  1st fail  failed  multi   placed/s       p50       p99
default        FGD (fast)         4.882     4.705     4.832     4.659     94.63    2472   25.9     313083     0.7us     77.1us
default        /tmp/x policy -out /dev/null     4.284     4.294     4.267     4.175     90.45    2421   28.3      17201    24.9us  1032.4us
`)
	write("fill.jsonl", `{"game":"llm","nodes":10004,"decisions":21439,"per_second":200000,"p50_us":1.8,"p99_us":11}
{"game":"llm","nodes":10004,"decisions":68341,"per_second":42231,"p50_us":5,"p99_us":78,"groups":2517,"group_p99_us":185}
`)
	write("peers.txt", "nomad v1.11.3 per-replica nodes=10004 placed=970 placements/s=97 eval p50=7ms\nkube nodes=10004 placements/s=150 cpu=0.500\nother not run: it does not build here\n")
	var out bytes.Buffer
	err := table(&out, dir)
	if err == nil || err.Error() != "2 of 8 goals are missed" {
		t.Errorf("want two of eight missed, got %v\n%s", err, out.String())
	}
	for _, want := range []string{
		"| openb default                  | unallocated devices at 100 %, %                |      4.284 |     <= 4.300 | met",
		"| openb default                  | unallocated devices at 130 %, %                |      4.294 |     <= 4.200 | MISSED",
		"| fill, 10004 nodes              | placements a second                            |     200000 |    >= 150000 | met",
		"| nomad v1.11.3 per-replica eval | ours, times as fast                            |       2062 |      >= 1000 | met",
		"| kube                           | ours, times as fast                            |    666.667 |      >= 1000 | MISSED",
		"| other not run: it does not build here\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want the line\n%s\nin\n%s", want, out.String())
		}
	}
	if err := table(&out, t.TempDir()); err == nil {
		t.Error("want an error where nothing was measured")
	}
}

// TestLoop measures a small fleet, and says of every figure whether its goal is
// met; those that are no times are.
func TestLoop(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := run([]string{"loop", filepath.Join(dir, "loop.jsonl"), "1000"}, nil, nil); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	_ = table(&out, dir) // a busy machine may miss a time
	for _, want := range []string{
		"| loop, 1000 nodes               | a pass with nothing to do, 2000 replicas, ms ",
		"| a PDU lost, others that were touched           |      0.000 |     <= 0.000 | met",
		"| a PDU lost, placed after a lower class         |      0.000 |     <= 0.000 | met",
		"| explain with a fix, ms ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want the line\n%s\nin\n%s", want, out.String())
		}
	}
	for _, args := range [][]string{{"loop"}, {"loop", "x", "y"}, {"loop", "x", "12"}} {
		if err := run(args, nil, nil); err == nil {
			t.Errorf("%v is taken", args)
		}
	}
}

func TestPolicyAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"openb", `{"op":"reset","nodes":[{"model":"T4","cpu_cap":1000,"mem_cap":64,"gpu":[0,0]}],"shapes":[{"cpu":1,"gpus":1,"milli":500,"p":1}]}
{"op":"place","task":{"cpu":600,"mem":1,"gpus":1,"milli":500,"spec":["T4","P100"],"class":1}}
{"op":"place","task":{"cpu":100,"mem":1,"gpus":1,"milli":400,"class":2}}
{"op":"place","task":{"cpu":100,"mem":1,"gpus":2,"milli":1000,"class":3}}
{"op":"place","task":{"cpu":100,"mem":1,"gpus":1,"milli":100,"spec":["P100"],"class":4}}
`, `{"node":0,"gpus":[0]}
{"node":0,"gpus":[1]}
{"node":-1}
{"node":-1}
`},
		{"llm", `{"op":"reset","seed":1,"nodes":[{"groups":[{"class":"A","size":2,"bad":1},{"class":"A","size":2}],"core_cap":8,"mem_cap":8,"rack":"r1","pool":"shared","engines":{"vllm":true},"weights":{}}],"models":[{"name":"m","profiles":[{"class":"A","tp":2,"shards":1,"cores":1,"mem_gb":1,"engine":"vllm"}],"weight":1,"size_gb":1}]}
{"op":"place","model":"m"}
{"op":"placed","id":1,"model":"m","profile":0,"shards":[{"node":0,"group":1,"devices":3}]}
{"op":"place","model":"m"}
{"op":"removed","id":1}
{"op":"changed","node":0,"down":true}
{"op":"place","model":"m"}
{"op":"changed","node":0}
{"op":"place","model":"m"}
`, `{"profile":0,"shards":[{"node":0,"group":1,"devices":3}]}
{"ok":false}
{"ok":false}
{"profile":0,"shards":[{"node":0,"group":1,"devices":3}]}
`},
	} {
		var out bytes.Buffer
		if err := run([]string{"policy"}, strings.NewReader(c.in), &out); err != nil || out.String() != c.want {
			t.Errorf("%s: want\n%sgot\n%s%v", c.name, c.want, out.String(), err)
		}
	}
}
