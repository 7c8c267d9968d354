package process

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"llmgw.io/llmgw/agent/protocol"
)

// start starts a shell script and kills what is left of it at the end.
func start(t *testing.T, script string) (p *Process, output string) {
	t.Helper()
	output = filepath.Join(t.TempDir(), "output")
	f, err := os.Create(output)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err = Start(Launch{
		Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"PATH=" + os.Getenv("PATH")},
		Dir: filepath.Dir(output), Output: f, Mark: "test." + t.Name() + "." + filepath.Dir(output),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Kill() })
	return p, output
}

func ended(t *testing.T, p *Process) protocol.Exit {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	select {
	case <-p.Done():
	case <-ctx.Done():
		t.Fatal("the process does not end")
	}
	return p.Exit()
}

// until waits for what must come.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("did not come: %s", what)
		}
	}
}

func says(path, text string) bool {
	data, _ := os.ReadFile(path)
	return strings.Contains(string(data), text)
}

func TestExit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		script string
		want   protocol.Exit
	}{
		{"exit 0", protocol.Exit{}},
		{"exit 7", protocol.Exit{Code: 7}},
		{"kill -ABRT $$", protocol.Exit{Code: -1, Signal: int(syscall.SIGABRT)}},
	}
	for _, tt := range tests {
		p, _ := start(t, tt.script)
		got := ended(t, p)
		if got.Code != tt.want.Code || got.Signal != tt.want.Signal {
			t.Errorf("%s: got %+v, want %+v", tt.script, got, tt.want)
		}
		if alive(p.ID()) {
			t.Errorf("%s: it counts as alive", tt.script)
		}
	}
}

func TestNothingIsInherited(t *testing.T) {
	t.Setenv("SECRET_OF_THE_AGENT", "secret")
	p, output := start(t, `echo "[$SECRET_OF_THE_AGENT]"; tr '\0' '\n' </proc/$$/environ`)
	ended(t, p)
	if !says(output, "[]") || !says(output, markVariable+"="+p.tree.Mark) {
		data, _ := os.ReadFile(output)
		t.Errorf("the environment is not its own: %s", data)
	}
}

func TestStopAsksTwice(t *testing.T) {
	t.Parallel()
	p, output := start(t, `trap 'if [ "$n" ]; then exit 5; fi; n=1; echo first' TERM; echo up; while :; do sleep 0.01; done`)
	until(t, "the trap is set", func() bool { return says(output, "up") })
	if err := p.Stop(protocol.Stopping{}, 50*time.Millisecond, time.Hour); err != nil {
		t.Fatal(err)
	}
	if exit := p.Exit(); exit.Code != 5 || !says(output, "first") {
		t.Errorf("got %+v", exit)
	}
}

// An engine that ends its own workers is asked alone, and left the time it was
// given: told again, or together with its workers, it would cut its requests.
func TestStopAsksTheLeaderAlone(t *testing.T) {
	t.Parallel()
	worker := `trap 'echo worker asked' TERM; while :; do sleep 0.01; done`
	p, output := start(t, `sh -c "`+worker+`" & w=$!
		trap 'if [ "$n" ]; then echo asked again; exit 5; fi; n=1; sleep 0.2; kill -9 $w; exit 0' TERM; echo up; while :; do sleep 0.01; done`)
	until(t, "the trap is set", func() bool { return says(output, "up") })
	if err := p.Stop(protocol.Stopping{LeaderOnly: true, Grace: time.Hour}, time.Millisecond, 10*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if exit := p.Exit(); exit.Code != 0 || says(output, "worker asked") || says(output, "asked again") {
		t.Errorf("want it to end its worker by itself, got %+v", exit)
	}
}

func TestStopKillsTheDeaf(t *testing.T) {
	t.Parallel()
	p, output := start(t, `trap '' TERM; echo up; while :; do sleep 0.01; done`)
	until(t, "the trap is set", func() bool { return says(output, "up") })
	if err := p.Stop(protocol.Stopping{}, time.Millisecond, 10*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if exit := p.Exit(); exit.Signal != int(syscall.SIGKILL) {
		t.Errorf("got %+v", exit)
	}
}

// TestKillEndsTheTree has a child in the session and one that left it: both are
// found, also once their parent is gone.
func TestKillEndsTheTree(t *testing.T) {
	t.Parallel()
	script := `sleep 1000 & setsid sleep 1000 & echo up; `
	for name, end := range map[string]func(p *Process) error{
		"killed":    func(p *Process) error { return p.Kill() },
		"swept":     func(p *Process) error { return p.Sweep() },
		"forgotten": func(p *Process) error { return Tree{Mark: p.tree.Mark}.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			last := "wait"
			if name == "swept" {
				last = "exit 1"
			}
			p, output := start(t, script+last)
			until(t, "children", func() bool { return says(output, "up") && len(p.tree.members(true)) >= 2 })
			if name == "swept" {
				ended(t, p)
			}
			if err := end(p); err != nil {
				t.Fatal(err)
			}
			if left := p.tree.members(true); len(left) > 0 {
				t.Errorf("processes are left: %v", left)
			}
		})
	}
}

func TestAdopt(t *testing.T) {
	t.Parallel()
	p, _ := start(t, "sleep 1000")
	other := p.tree
	other.Leader.Start++
	if _, ok := Adopt(other, time.Millisecond); ok {
		t.Error("another process of the same number was adopted")
	}
	other = p.tree
	other.Leader.Boot = "another"
	if _, ok := Adopt(other, time.Millisecond); ok {
		t.Error("a process of another boot was adopted")
	}
	a, ok := Adopt(p.tree, time.Millisecond)
	if !ok || !a.Adopted() || a.ID() != p.ID() || a.Ended() {
		t.Fatalf("not adopted: %v %+v", ok, a)
	}
	if exit := a.Exit(); exit.Code != 0 {
		t.Errorf("it has an exit before it ended: %+v", exit)
	}
	if err := a.Stop(protocol.Stopping{}, time.Hour, time.Hour); err != nil {
		t.Fatal(err)
	}
	if exit := ended(t, a); exit.Code != -1 {
		t.Errorf("how an adopted process ended cannot be known: %+v", exit)
	}
	if _, ok := Adopt(p.tree, time.Millisecond); ok {
		t.Error("a process that ended was adopted")
	}
}

func TestKillStrays(t *testing.T) {
	t.Parallel()
	known, _ := start(t, "sleep 1000")
	stray, _ := start(t, "sleep 1000")
	prefix := "test." + t.Name() + "."
	if n := KillStrays(prefix, map[string]bool{known.tree.Mark: true}); n != 1 {
		t.Errorf("%d trees were killed, want 1", n)
	}
	ended(t, stray)
	if known.Ended() {
		t.Error("what is known was killed")
	}
}

func TestMeter(t *testing.T) {
	t.Parallel()
	p, _ := start(t, "while :; do :; done")
	m := NewMeter(p)
	now := time.Unix(1000, 0)
	if bytes, cores := m.Read(now); bytes <= 0 || cores != 0 {
		t.Errorf("the first reading: %d bytes, %v cores; want memory and no cores", bytes, cores)
	}
	until(t, "processor time", func() bool {
		now = now.Add(time.Second) // a reading at the same time as the last has no span
		_, cores := m.Read(now)
		return cores > 0
	})
}

func TestParseStat(t *testing.T) {
	t.Parallel()
	tail := " S 7 1 42 0 -1 0 0 0 0 0 5 6 0 0 20 0 1 0 12345 0 0"
	for _, name := range []string{"sh", "a b", "x) R 1 2 (", ")"} {
		s, err := parseStat([]byte("99 (" + name + ")" + tail))
		want := stat{state: 'S', parent: 7, session: 42, ticks: 11, start: 12345}
		if err != nil || s != want {
			t.Errorf("%q: %+v, %v; want %+v", name, s, err, want)
		}
	}
	for _, bad := range []string{"", "99 (sh", "99 (sh) S 7", strconv.Itoa(99)} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
