package journalfile

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"llmgw.io/llmgw/storage"
)

// crashChild makes the test's own binary the process that is killed.
const crashChild = "LLMGW_TEST_JOURNAL_CHILD"

// TestCrashChild appends until it is killed and says what was acknowledged.
func TestCrashChild(t *testing.T) {
	dir := os.Getenv(crashChild)
	if dir == "" {
		t.Skip("this is the process that TestKill kills")
	}
	j, err := Open(Config{Dir: dir, FileBytes: 4 << 10})
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		e := change(n)
		if n%16 == 0 {
			e = base(n)
		}
		e.Data = fmt.Appendf(nil, "%s-%d %s", os.Getenv(crashChild+"_ROUND"), n, strings.Repeat(fmt.Sprint(n), 1+n%700))
		if err := j.AppendJournal(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		os.Stdout.Write([]byte(strings.Fields(string(e.Data))[0] + "\n"))
	}
}

// TestKill kills a process that appends, again and again. What it acknowledged is
// there, once, in order, and the next one goes on.
func TestKill(t *testing.T) {
	t.Parallel()
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	dir := t.TempDir()
	var acked []string
	tails := 0
	for round := range rounds {
		acked = append(acked, killWriter(t, dir, round, 30+7*round)...)
		var got []string
		for _, s := range texts(t, dir) {
			if s == "torn" {
				tails++
				continue
			}
			got = append(got, strings.Fields(s)[0])
		}
		at := 0
		for _, id := range acked {
			i := slices.Index(got[at:], id)
			if i < 0 {
				t.Fatalf("round %d: an acknowledged entry is lost, or out of order: %s", round, id)
			}
			at += i + 1
		}
		if seen := slices.Compact(slices.Sorted(slices.Values(got))); len(seen) != len(got) {
			t.Fatalf("round %d: an entry is there twice", round)
		}
	}
	t.Logf("%d entries were acknowledged in %d rounds, in %d files with %d torn ends", len(acked), rounds, len(list(t, dir)), tails)
}

// killWriter starts a writer, kills it after so many entries, and returns those
// that it acknowledged.
func killWriter(t *testing.T, dir string, round, after int) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCrashChild$")
	cmd.Env = append(os.Environ(), crashChild+"="+dir, fmt.Sprintf("%s_ROUND=%d", crashChild, round))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var lines []string
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			break
		}
		if lines = append(lines, strings.TrimSuffix(line, "\n")); len(lines) == after {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd.Wait()
	if len(lines) < after {
		t.Fatalf("round %d: the writer ended by itself: %q", round, lines)
	}
	return lines
}

// FuzzRead never panics and yields whole entries only, whatever a file holds.
func FuzzRead(f *testing.F) {
	dir := f.TempDir()
	j, err := Open(Config{Dir: dir})
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range []storage.JournalEntry{base(1), change(2)} {
		if err := j.AppendJournal(f.Context(), e); err != nil {
			f.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		f.Fatal(err)
	}
	names, err := files(dir)
	if err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(dir + "/" + names[0])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		path := t.TempDir() + "/" + nameOf(1)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		for e, err := range Read(t.Context(), path) {
			if err == nil && e.Check() != nil {
				t.Errorf("an entry that could not have been appended was read: %v", e)
			}
		}
	})
}
