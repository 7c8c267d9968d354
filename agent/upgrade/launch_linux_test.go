package upgrade

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"llmgw.io/llmgw/inventory"
)

func goarch() string { return runtime.GOARCH }

// TestUpgrades goes over two versions, of which the second is guarded by the first
// and not by the one that was installed, and starts anew in between.
func TestUpgrades(t *testing.T) {
	t.Parallel()
	m := newMachine(t, time.Minute)
	m.releases("v0.0.2", "good")
	m.releases("v0.0.3", "good")
	m.releases("v0.0.4", "good")
	m.service(false)
	m.runs("v0.0.1")
	main, _ := m.main()
	m.order("v0.0.2")
	done := func(version string) func(beat) bool {
		return func(b beat) bool { return b.version == version && b.state == inventory.UpgradeDone }
	}
	b := m.until("v0.0.2 is done", done("v0.0.2"))
	if got := m.processes(); len(got) != 2 || got[main] != "bin/llmgw-agent" || got[b.pid] != "versions/v0.0.2/llmgw-agent" {
		t.Errorf("want the installed program to guard %d, got %v", b.pid, got)
	}
	m.order("v0.0.3") // from a version that is guarded
	b = m.until("v0.0.3 is done", done("v0.0.3"))
	if got := m.processes(); len(got) != 2 || got[main] != "versions/v0.0.2/llmgw-agent" || got[b.pid] != "versions/v0.0.3/llmgw-agent" {
		t.Errorf("want v0.0.2 to guard %d, got %v", b.pid, got)
	}
	m.order("v0.0.4")
	m.until("v0.0.4 is done", done("v0.0.4"))
	pid, runs := m.engine()
	if !runs {
		t.Error("the engine that v0.0.1 started is gone")
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	m.until("nothing is left of the engine", func(beat) bool { _, left := m.engine(); return !left })
	var have []string
	entries, err := os.ReadDir(Folder(m.dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			have = append(have, e.Name())
		}
	}
	if now, err := os.Readlink(filepath.Join(Folder(m.dir), linkName)); now != "v0.0.4" || !slices.Equal(have, []string{"v0.0.3", "v0.0.4"}) {
		t.Errorf("want the current version and the one before, got %q of %v, %v", now, have, err)
	}
}

// TestStartsAnew starts a machine again after an upgrade: the version that was
// proved is the process that the service started, with nobody beside it.
func TestStartsAnew(t *testing.T) {
	t.Parallel()
	m := newMachine(t, time.Minute)
	m.releases("v0.0.2", "good")
	m.service(true)
	m.runs("v0.0.1")
	m.order("v0.0.2")
	m.until("v0.0.2 is done", func(b beat) bool { return b.version == "v0.0.2" && b.state == inventory.UpgradeDone })
	main, _ := m.main()
	m.silence()
	_ = syscall.Kill(main, syscall.SIGTERM) // as a service is stopped: the guard alone hears of it
	b := m.until("another process", func(b beat) bool { pid, _ := m.main(); return b.version == "v0.0.2" && b.pid == pid && pid != main })
	if got := m.processes(); len(got) != 1 || got[b.pid] != "versions/v0.0.2/llmgw-agent" {
		t.Errorf("want v0.0.2 alone, got %v", got)
	}
	// What somebody installs later is right, whatever its version.
	m.write("bin/"+programName, toy("v0.0.1", "newer"))
	_ = syscall.Kill(b.pid, syscall.SIGTERM)
	if b := m.runs("v0.0.1"); b.state != "" {
		t.Errorf("an upgrade of another program is told: %+v", b)
	}
	// And what cannot be read keeps nobody from running.
	m.write("bin/"+programName, toy("v0.0.5", "good"))
	m.write("versions/"+stateName, []byte("{"))
	main, _ = m.main()
	_ = syscall.Kill(main, syscall.SIGTERM)
	m.runs("v0.0.5")
}

// TestGoesBack upgrades to versions that do not do, with nobody to start the agent
// again: the one before runs again by itself, as the same process, and says why.
func TestGoesBack(t *testing.T) {
	t.Parallel()
	for temper, why := range map[string]string{
		"ends":  "was started 3 times and ended each time before the control plane had answered it; last: exit status 1: llmgw-agent: this version ends at once",
		"hangs": "was not answered by the control plane within 3s",
		"deaf":  "was not answered by the control plane within 3s",
	} {
		t.Run(temper, func(t *testing.T) {
			t.Parallel()
			trial := 3 * time.Second
			if temper == "ends" {
				trial = time.Minute
			}
			m := newMachine(t, trial)
			m.releases("v0.0.2", temper)
			m.releases("v0.0.3", "good")
			m.service(false)
			first := m.runs("v0.0.1")
			m.order("v0.0.2")
			b := m.until("v0.0.1 runs again", func(b beat) bool { return b.state == inventory.UpgradeFailed })
			if b.version != "v0.0.1" || b.pid != first.pid || !strings.Contains(b.err, why) {
				t.Errorf("want %q of v0.0.1 as process %d, got %+v", why, first.pid, b)
			}
			if got := m.processes(); len(got) != 1 {
				t.Errorf("want one process, got %v", got)
			}
			if now, err := os.Readlink(filepath.Join(Folder(m.dir), linkName)); err == nil {
				t.Errorf("%s is current", now)
			}
			if temper == "ends" { // a version that was mended follows
				m.order("v0.0.3")
				m.runs("v0.0.3")
			}
		})
	}
}

// TestGuardKilled kills the guard alone, with nobody to start it again: what it
// guarded ends with it, whatever its temper, and the next start goes on.
func TestGuardKilled(t *testing.T) {
	t.Parallel()
	for _, temper := range []string{"good", "hangs"} {
		t.Run(temper, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, time.Minute)
			m.releases("v0.0.2", temper)
			m.service(false)
			m.runs("v0.0.1")
			m.order("v0.0.2")
			tried := func(n int) func(beat) bool {
				return func(beat) bool {
					s, err := readState(Folder(m.dir))
					return err == nil && s != nil && s.Attempts == n && len(m.processes()) == 2
				}
			}
			m.until("v0.0.2 is guarded", tried(1))
			guard, _ := m.main()
			_ = syscall.Kill(guard, syscall.SIGKILL)
			m.until("nothing is left", func(beat) bool { return len(m.processes()) == 0 })
			m.silence()
			m.service(false)
			if temper == "good" {
				m.runs("v0.0.2")
				return
			}
			m.until("it is tried again", tried(2))
		})
	}
}

// TestControlAway has the control plane go away just then: going back does no harm,
// and the same order is good afterwards.
func TestControlAway(t *testing.T) {
	t.Parallel()
	m := newMachine(t, 3*time.Second)
	m.releases("v0.0.2", "deaf")
	m.service(false)
	m.runs("v0.0.1")
	m.order("v0.0.2")
	for { // until the order was taken
		if s, _ := readState(Folder(m.dir)); s != nil && s.Phase == inventory.UpgradeTrial {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	m.control(false)
	m.silence()
	for {
		if s, _ := readState(Folder(m.dir)); s.Phase == inventory.UpgradeFailed {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	m.control(true)
	m.runs("v0.0.1")
	m.releases("v0.0.2", "good")
	m.order("v0.0.2")
	m.until("v0.0.2 is done", func(b beat) bool { return b.version == "v0.0.2" && b.state == inventory.UpgradeDone })
}

// TestKilledUpgrade kills whatever process of the agent there is, at any moment of
// an upgrade: afterwards one agent runs, of one of the two versions. It loops five
// times, or as often as LLMGW_KILLS says.
func TestKilledUpgrade(t *testing.T) {
	t.Parallel()
	loops := 5
	if n, err := strconv.Atoi(os.Getenv("LLMGW_KILLS")); err == nil {
		loops = n
	}
	ends := map[string]int{}
	for i := range loops {
		seed := uint64(i)
		if set, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
			seed = set
		}
		chance := rand.New(rand.NewPCG(seed, 94))
		m := newMachine(t, 20*time.Second)
		m.releases("v0.0.2", "good")
		m.service(true)
		m.runs("v0.0.1")
		m.order("v0.0.2")
		for range 1 + chance.IntN(4) {
			time.Sleep(time.Duration(chance.IntN(300)) * time.Millisecond)
			if pids := slices.Sorted(maps.Keys(m.processes())); len(pids) > 0 {
				_ = syscall.Kill(pids[chance.IntN(len(pids))], syscall.SIGKILL)
			}
		}
		m.silence()
		b := m.until("one agent is left", func(b beat) bool {
			_, ordered := os.Stat(filepath.Join(m.dir, "order"))
			_, refused := os.Stat(filepath.Join(m.dir, "refused")) // the run that proves it was killed
			s, _ := readState(Folder(m.dir))
			if s == nil {
				return refused == nil && ordered != nil && b.version == "v0.0.1"
			}
			return ordered != nil && s.Phase != inventory.UpgradeTrial && b.state == s.Phase
		})
		ends[b.version]++
		if _, runs := m.engine(); !runs {
			t.Errorf("seed %d: the engine is gone", seed)
		}
		pid, _ := m.main()
		for p, program := range m.processes() {
			if p != b.pid && p != pid {
				t.Errorf("seed %d: %s runs as %d beside the agent %+v and its guard %d", seed, program, p, b, pid)
			}
		}
	}
	t.Logf("of %d upgrades that were killed: %v", loops, ends)
}
