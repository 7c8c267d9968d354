package upgrade

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"llmgw.io/llmgw/internal/durable"
	"llmgw.io/llmgw/internal/release"
	"llmgw.io/llmgw/internal/release/releasetest"
	"llmgw.io/llmgw/inventory"
)

// toyVariable makes this test binary a toy agent with that data folder.
const toyVariable = "LLMGW_TOY_AGENT"

// toyMark is behind the test binary in a toy's file, with its version and temper.
const toyMark = "\nTOY AGENT "

// toyBinary is the test binary's bytes.
var toyBinary []byte

func TestMain(m *testing.M) {
	self, err := os.Executable()
	if err == nil {
		toyBinary, err = os.ReadFile(self)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if i := bytes.LastIndex(toyBinary, []byte(toyMark)); i >= 0 && i > len(toyBinary)-100 {
		words := strings.Fields(string(toyBinary[i+len(toyMark):]))
		toyBinary = nil
		os.Exit(toyMain(words[0], words[1]))
	}
	os.Exit(m.Run())
}

// toy is the program of a version.
func toy(version, temper string) []byte {
	return append(bytes.Clone(toyBinary), []byte(toyMark+version+" "+temper+"\n")...)
}

// toyMain is an agent that does nothing but upgrade itself. Its control plane is a
// folder: the file control says that it answers, and order has versions to become.
func toyMain(version, temper string) int {
	if slices.Equal(os.Args[1:], []string{"version"}) {
		if temper == "lies" {
			version = "v9.9.9"
		}
		fmt.Printf("llmgw-agent %s (toy)\n", version)
		return 0
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	l := Launcher{Dir: os.Getenv(toyVariable), Agent: func(ctx context.Context) error { return toyAgent(ctx, version, temper) }}
	if err := l.Run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "llmgw-agent:", err)
		return 1
	}
	return 0
}

func toyAgent(ctx context.Context, version, temper string) error {
	dir := os.Getenv(toyVariable)
	switch temper {
	case "ends":
		return errors.New("this version ends at once")
	case "hangs":
		signal.Ignore(syscall.SIGTERM)
		select {}
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for held := false; !held; {
		if held, err = durable.TryLock(f); err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		pause(ctx, 5*time.Millisecond)
	}
	if err := toyEngine(dir); err != nil {
		return err
	}
	key, _ := os.ReadFile(filepath.Join(dir, "key"))
	trial, err := time.ParseDuration(os.Getenv("LLMGW_TOY_TRIAL"))
	if err != nil {
		return err
	}
	u, err := New(Config{Dir: dir, Version: version, URL: "file://" + filepath.Join(dir, "releases"), Keys: []string{string(key)}, Trial: trial})
	if err != nil {
		return err
	}
	for seq := 0; ctx.Err() == nil; seq++ {
		if _, err := os.Stat(filepath.Join(dir, "control")); err == nil && temper != "deaf" {
			if err := toyBeat(ctx, dir, version, seq, u); err != nil {
				return err
			}
		}
		pause(ctx, 10*time.Millisecond)
	}
	return nil
}

// toyEngine starts something that outlives the agent, the first time.
func toyEngine(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "engine")); err == nil {
		return nil
	}
	c := exec.Command("sleep", "1000000")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "engine"), []byte(strconv.Itoa(c.Process.Pid)), 0o600)
}

// toyBeat says what runs here, and does what is ordered.
func toyBeat(ctx context.Context, dir, version string, seq int, u *Upgrader) error {
	if seq > 0 { // the first was answered
		if err := u.Healthy(); err != nil {
			return err
		}
	}
	beat := fmt.Sprintf("%s %d", version, os.Getpid())
	if s := u.Status(); s != nil {
		beat += fmt.Sprintf(" %s %s", s.State, s.Error)
	}
	if err := durable.WriteFile(filepath.Join(dir, "beat"), []byte(beat)); err != nil {
		return err
	}
	order, err := os.ReadFile(filepath.Join(dir, "order"))
	if err != nil {
		return nil //nolint:nilerr // there is none
	}
	if err := u.Upgrade(ctx, string(order)); err != nil {
		return errors.Join(os.WriteFile(filepath.Join(dir, "refused"), []byte(err.Error()), 0o600), os.Remove(filepath.Join(dir, "order")))
	}
	return errors.Join(ErrTaken, os.Remove(filepath.Join(dir, "order")))
}

// machine is a machine with a toy agent, started again when it ends, as a service
// is.
type machine struct {
	t       *testing.T
	dir     string
	program string
	trial   time.Duration
	pen     releasetest.Pen
	// starts and pid are of the process that the service started.
	mu     sync.Mutex
	starts int
	pid    int
}

// newMachine has v0.0.1 installed, and its control plane answers.
func newMachine(t *testing.T, trial time.Duration) *machine {
	t.Helper()
	m := &machine{t: t, dir: t.TempDir(), trial: trial, pen: releasetest.NewPen()}
	m.program = filepath.Join(m.dir, "bin", programName)
	m.write("bin/"+programName, toy("v0.0.1", "good"))
	m.write("key", []byte(m.pen.Key()))
	m.control(true)
	return m
}

func (m *machine) write(name string, data []byte) {
	m.t.Helper()
	path := filepath.Join(m.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", data, 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) control(answers bool) {
	m.t.Helper()
	if answers {
		m.write("control", nil)
		return
	}
	if err := os.Remove(filepath.Join(m.dir, "control")); err != nil {
		m.t.Fatal(err)
	}
}

// releases puts a signed version where the agent looks for it.
func (m *machine) releases(version, temper string) {
	m.t.Helper()
	w := release.Want{Version: version, OS: "linux", Arch: goarch()}
	program := toy(version, temper)
	m.write("releases/"+version+"/"+w.File(), program)
	m.write("releases/"+version+"/"+w.File()+".minisig", m.pen.Sign(program, w.Comment()))
}

func (m *machine) order(version string) { m.write("order", []byte(version)) }

// service keeps the agent running until the test ends. With again false it starts
// it once: nobody stands beside it.
func (m *machine) service(again bool) {
	stop, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for {
			cmd := exec.Command(m.program)
			cmd.Env = append(os.Environ(), toyVariable+"="+m.dir, "LLMGW_TOY_TRIAL="+m.trial.String())
			cmd.Stderr = &limited{b: &bytes.Buffer{}}
			cmd.WaitDelay = time.Second
			if err := cmd.Start(); err == nil {
				m.mu.Lock()
				m.starts, m.pid = m.starts+1, cmd.Process.Pid
				m.mu.Unlock()
				_ = cmd.Wait()
			}
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
			if !again {
				return
			}
		}
	}()
	m.t.Cleanup(func() {
		close(stop)
		for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			for pid := range m.processes() {
				_ = syscall.Kill(pid, syscall.SIGTERM)
			}
			select {
			case <-over:
				if pid, runs := m.engine(); runs {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
				if left := m.processes(); len(left) > 0 {
					m.t.Errorf("processes are left behind: %v", left)
				}
				return
			default:
			}
			if time.Now().After(end) {
				m.t.Error("the agent does not end")
				return
			}
		}
	})
}

func (m *machine) main() (pid, starts int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pid, m.starts
}

// processes are those of this machine's agent, by pid: their program's path.
func (m *machine) processes() map[int]string {
	out := map[int]string{}
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		exe, err := os.Readlink(link)
		if err == nil && strings.HasPrefix(exe, m.dir+"/") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(link)))
			out[pid] = strings.TrimPrefix(exe, m.dir+"/")
		}
	}
	return out
}

// engine is the process that the first agent started, and whether anything is left
// of it.
func (m *machine) engine() (pid int, left bool) {
	b, _ := os.ReadFile(filepath.Join(m.dir, "engine"))
	pid, _ = strconv.Atoi(string(b))
	_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	return pid, pid > 0 && err == nil
}

// beat is what the agent last said.
type beat struct {
	version string
	pid     int
	state   inventory.UpgradeState
	err     string
}

func (m *machine) beat() (b beat) {
	text, _ := os.ReadFile(filepath.Join(m.dir, "beat"))
	words := strings.SplitN(string(text), " ", 4)
	if len(words) > 1 {
		b.version = words[0]
		b.pid, _ = strconv.Atoi(words[1])
	}
	if len(words) > 3 {
		b.state, b.err = inventory.UpgradeState(words[2]), words[3]
	}
	return b
}

// silence forgets what was said, so that the next beat is a new one.
func (m *machine) silence() { _ = os.Remove(filepath.Join(m.dir, "beat")) }

// until waits for a beat.
func (m *machine) until(what string, ok func(beat) bool) beat {
	m.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		b := m.beat()
		if ok(b) {
			return b
		}
		if time.Now().After(end) {
			state, _ := os.ReadFile(filepath.Join(m.dir, "versions", stateName))
			refused, _ := os.ReadFile(filepath.Join(m.dir, "refused"))
			m.t.Fatalf("did not come: %s; last: %+v, state %s, refused %q, processes %v", what, b, state, refused, m.processes())
		}
	}
}

func (m *machine) runs(version string) beat {
	m.t.Helper()
	return m.until(version+" runs", func(b beat) bool { return b.version == version })
}
