package agent

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/agent/protocol"
)

func logAgent(t *testing.T) (*Agent, string) {
	t.Helper()
	dir := t.TempDir()
	a := &Agent{cfg: Config{DataDir: dir}.withDefaults()}
	shard := filepath.Join(dir, "shards", hashed("s"))
	if err := os.MkdirAll(shard, 0o700); err != nil {
		t.Fatal(err)
	}
	return a, filepath.Join(shard, logName)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	f, err := appendLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func TestLogTail(t *testing.T) {
	t.Parallel()
	a, path := logAgent(t)
	var b strings.Builder
	for i := range 30000 {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	write(t, path+".1", "older\n")
	write(t, path, b.String()+"unfinished")
	for tail, want := range map[int]string{
		1:      "unfinished",
		2:      "line 29999\nunfinished",
		20000:  b.String()[strings.Index(b.String(), "line 10001\n"):] + "unfinished",
		100000: b.String() + "unfinished",
		0:      "older\n" + b.String() + "unfinished",
	} {
		r, err := a.openLog(t.Context(), protocol.LogsArgs{Shard: "s", Tail: tail})
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || string(got) != want {
			t.Errorf("tail %d: %d bytes, %v; want %d", tail, len(got), err, len(want))
		}
		_ = r.Close()
	}
	if _, err := a.openLog(t.Context(), protocol.LogsArgs{Shard: "../../etc/passwd"}); err == nil || !strings.Contains(err.Error(), "no log") {
		t.Errorf("a shard nobody knows: %v", err)
	}
}

func TestLogFollow(t *testing.T) {
	t.Parallel()
	a, path := logAgent(t)
	write(t, path, "one\ntwo\n")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r, err := a.openLog(ctx, protocol.LogsArgs{Shard: "s", Tail: 1, Follow: true})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		time.AfterFunc(time.Second, func() { write(t, path, "three\n") })
		time.AfterFunc(5*time.Second, func() { rotate(path, 0) })
		time.AfterFunc(10*time.Second, func() { write(t, path, "four\n") })
		got, err := io.ReadAll(r)
		if err != nil || string(got) != "two\nthree\nfour\n" {
			t.Errorf("followed %q, %v", got, err)
		}
	})
}

func TestRotate(t *testing.T) {
	t.Parallel()
	_, path := logAgent(t)
	f, err := appendLog(path) // the engine's
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i := range 5 {
		if _, err := fmt.Fprintf(f, "part %d of the log\n", i); err != nil {
			t.Fatal(err)
		}
		rotate(path, 10)
	}
	fmt.Fprint(f, "end\n")
	for name, want := range map[string]string{"": "end\n", ".1": "part 4 of the log\n", ".2": "part 3 of the log\n"} {
		got, err := os.ReadFile(path + name)
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	if _, err := os.Stat(path + ".3"); err == nil {
		t.Error("more files are kept than three")
	}
	if got := lastLines(path + ".1"); len(got) != 1 || got[0] != "part 4 of the log" {
		t.Errorf("last lines %q", got)
	}
}

func TestPulse(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	bad := fmt.Errorf("timeout")
	p := newPulse(30 * time.Second)
	for i := range hungProbes - 1 {
		if p.probed(bad, start) {
			t.Errorf("hung after %d failed probes", i+1)
		}
	}
	if !p.probed(bad, start) {
		t.Error("never hung without a count of tokens")
	}
	p = newPulse(30 * time.Second)
	p.busy = true
	for i := range 3 * hungProbes {
		if p.probed(bad, start) {
			t.Errorf("a busy engine without a count hangs after %d failed probes", i+1)
		}
	}
	p = newPulse(30 * time.Second)
	p.generated(5, start)
	p.probed(bad, start.Add(30*time.Second))
	p.generated(6, start.Add(40*time.Second))
	if p.probed(bad, start.Add(60*time.Second)) {
		t.Error("hung though tokens move")
	}
	if !p.probed(bad, start.Add(71*time.Second)) {
		t.Error("not hung though no token moved for 30 s and probes fail")
	}
}
