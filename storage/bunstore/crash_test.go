package bunstore

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

// crashChild makes the test's own binary the process that is killed.
const crashChild = "LLMGW_TEST_CRASH_CHILD"

// TestCrashChild writes until it is killed and says what was acknowledged, one
// line for each.
func TestCrashChild(t *testing.T) {
	path := os.Getenv(crashChild)
	if path == "" {
		t.Skip("this is the process that TestKill kills")
	}
	round := os.Getenv(crashChild + "_ROUND")
	s, err := Open(t.Context(), Config{DSN: path})
	if err != nil {
		t.Fatal(err)
	}
	var out sync.Mutex
	say := func(line string) {
		out.Lock()
		defer out.Unlock()
		os.Stdout.WriteString(line + "\n")
	}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for n := 0; ; n++ {
				id := fmt.Sprintf("%s-%d-%d", round, w, n)
				if err := crashWrite(t.Context(), s, w, id); err != nil {
					t.Error(err)
					return
				}
				say(fmt.Sprint(w%2, " ", id))
			}
		})
	}
	wg.Wait()
}

// crashWrite writes usage in half of the writers, and definitions, which come
// with an event, in the others.
func crashWrite(ctx context.Context, s *Store, writer int, id string) error {
	if writer%2 == 0 {
		return s.AppendUsage(ctx, []storage.Request{{ID: id, CostMicros: 1, Outcome: storage.OutcomeOK}})
	}
	_, err := s.PutModel(ctx, catalog.Model{Name: catalog.Name(id)}, 0, inventory.Author{Principal: "token:ann"})
	return err
}

// TestKill kills a process that writes, again and again. What it acknowledged is
// there, once, and the next one opens the store at once.
func TestKill(t *testing.T) {
	t.Parallel()
	rounds := 10
	if testing.Short() {
		rounds = 3
	}
	path := filepath.Join(t.TempDir(), "llmgw.db")
	acked := [2]map[string]bool{{}, {}}
	for round := range rounds {
		for _, line := range killWriter(t, path, round, 20+3*round) {
			kind, id, _ := strings.Cut(line, " ")
			acked[kind[0]-'0'][id] = true
		}
		s, err := Open(t.Context(), Config{DSN: path})
		if err != nil {
			t.Fatalf("round %d: want the store open at once, got %v", round, err)
		}
		checkWhole(t, s)
		checkAcked(t, s, acked)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d rows of usage and %d definitions were acknowledged in %d rounds", len(acked[0]), len(acked[1]), rounds)
}

// killWriter starts a writer, kills it after so many acknowledged writes, and
// returns every line it got out whole.
func killWriter(t *testing.T, path string, round, after int) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCrashChild$")
	cmd.Env = append(os.Environ(), crashChild+"="+path, fmt.Sprintf("%s_ROUND=%d", crashChild, round))
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

func checkWhole(t *testing.T, s *Store) {
	t.Helper()
	var verdict string
	if err := s.rw.QueryRowContext(t.Context(), `PRAGMA integrity_check`).Scan(&verdict); err != nil || verdict != "ok" {
		t.Fatalf("want a whole database, got %q, %v", verdict, err)
	}
	if err := s.VerifyAudit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func checkAcked(t *testing.T, s *Store, acked [2]map[string]bool) {
	t.Helper()
	for id := range acked[0] {
		if _, err := s.Request(t.Context(), id); err != nil {
			t.Errorf("an acknowledged row of usage is lost: %v", err)
		}
	}
	list, err := s.ListModels(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, e := range list {
		found[string(e.Model.Name)] = true
	}
	for id := range acked[1] {
		if !found[id] {
			t.Errorf("an acknowledged definition is lost: %s", id)
		}
	}
	var events, models int
	if err := s.rw.NewRaw(`SELECT (SELECT count(*) FROM audit), (SELECT count(*) FROM models)`).Scan(t.Context(), &events, &models); err != nil {
		t.Fatal(err)
	}
	if events != models {
		t.Errorf("want as many events as definitions, got %d and %d", events, models)
	}
}

// TestTornLog cuts the write-ahead log at the end of each of its frames and in
// the middle of them, as a loss of power does: what is left is always the first
// so many writes, whole.
func TestTornLog(t *testing.T) {
	t.Parallel()
	const writes = 6
	path := filepath.Join(t.TempDir(), "llmgw.db")
	s := openAt(t, path)
	run(t, s, `PRAGMA wal_checkpoint(TRUNCATE)`)
	for i := range writes {
		if err := crashWrite(t.Context(), s, i, fmt.Sprintf("w%02d", i)); err != nil {
			t.Fatal(err)
		}
	}
	db, wal := readFile(t, path), readFile(t, path+"-wal")
	const header, frameHeader = 32, 24
	frame := frameHeader + int(binary.BigEndian.Uint32(wal[8:12]))
	if len(wal) < header+writes*frame {
		t.Fatalf("want a log of at least %d frames, got %d bytes", writes, len(wal))
	}
	last := -1
	for end := header; end <= len(wal); end += frame {
		for _, cut := range []int{end, min(end+frame/2, len(wal))} {
			n := openTorn(t, db, wal[:cut], writes)
			if n < last {
				t.Errorf("a log of %d bytes holds %d writes, and a shorter one held %d", cut, n, last)
			}
			last = n
		}
	}
	if last != writes {
		t.Errorf("want every write in the whole log, got %d of %d", last, writes)
	}
}

// openTorn opens a copy and returns how many writes it holds, which must be the
// first ones.
func openTorn(t *testing.T, db, wal []byte, writes int) int {
	t.Helper()
	path := filepath.Join(t.TempDir(), "llmgw.db")
	writeFile(t, path, db)
	writeFile(t, path+"-wal", wal)
	s, err := Open(t.Context(), Config{DSN: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	checkWhole(t, s)
	n, ended := 0, false
	for i := range writes {
		id, there := fmt.Sprintf("w%02d", i), false
		if i%2 == 0 {
			_, err := s.Request(t.Context(), id)
			there = err == nil
		} else {
			var count int
			if err := s.rw.NewRaw(`SELECT count(*) FROM models WHERE name = ?`, id).Scan(t.Context(), &count); err != nil {
				t.Fatal(err)
			}
			there = count == 1
		}
		if there && ended {
			t.Errorf("write %d is there without one before it", i)
		}
		if there {
			n++
		}
		ended = ended || !there
	}
	return n
}

// TestDamagedPage overwrites pages: the store says that it is damaged, and goes
// on when they are back.
func TestDamagedPage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "llmgw.db")
	s := openAt(t, path)
	for i := range 40 {
		if err := crashWrite(t.Context(), s, i, strings.Repeat("long ", 50)+fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	good := readFile(t, path)
	bad := bytes.Clone(good)
	for at := 4096; at < len(bad); at += 4096 {
		copy(bad[at:], "\xff\xff\xff\xff\xff\xff\xff\xff")
	}
	writeFile(t, path, bad)
	if s, err := Open(t.Context(), Config{DSN: path}); err == nil {
		s.Close()
		t.Error("want the damaged store refused, got none")
	} else if !strings.Contains(err.Error(), "damaged") || !strings.Contains(err.Error(), "backup") {
		t.Errorf("want the damage named with what to do, got %v", err)
	}
	writeFile(t, path, good)
	checkWhole(t, openAt(t, path))
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func writeFile(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
