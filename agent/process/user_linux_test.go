package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"
)

// testUsers gives each test a user that is nobody else's.
var testUsers atomic.Int64

func testUser(t *testing.T) User {
	t.Helper()
	uid := 64900 + int(testUsers.Add(1))
	if err := CanSwitch(uid, uid); err != nil {
		t.Skipf("no other users here: %v", err)
	}
	return User{UID: uid, GID: uid, Groups: []int{64000}}
}

// openDir is a folder that every user gets to: the one for tests is closed.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "llmgw-test-") //nolint:usetesting // t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestIsolatedProcess looks at what the kernel says of a process.
func TestIsolatedProcess(t *testing.T) {
	t.Parallel()
	u := testUser(t)
	open, err := os.CreateTemp(t.TempDir(), "of the agent")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	p, output := launched(t, Launch{User: u, Processes: 4096, Args: []string{"-c", "echo up; sleep 1000 & wait"}})
	until(t, "it runs", func() bool { return says(output, "up") })
	proc := filepath.Join("/proc", strconv.Itoa(p.ID().PID))
	status := read(t, filepath.Join(proc, "status"))
	for key, want := range map[string]string{
		"NoNewPrivs:": "1", "CapEff:": "0000000000000000", "CapPrm:": "0000000000000000",
		"Uid:": strconv.Itoa(u.UID), "Gid:": strconv.Itoa(u.GID), "Groups:": "64000",
	} {
		if got := field(status, key); got != want {
			t.Errorf("%s %s, want %s", key, got, want)
		}
	}
	limits := strings.Join(strings.Fields(read(t, filepath.Join(proc, "limits"))), " ")
	for _, want := range []string{"Max core file size 0 0", "Max processes 4096 4096"} {
		if !strings.Contains(limits, want) {
			t.Errorf("not in its limits: %s", want)
		}
	}
	if got := strings.TrimSpace(read(t, filepath.Join(proc, "oom_score_adj"))); got != "0" {
		t.Errorf("its adjustment for memory is %s", got)
	}
	fds, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		to, _ := os.Readlink(filepath.Join(proc, "fd", fd.Name()))
		if to != "/dev/null" && to != output {
			t.Errorf("it has %s open", to)
		}
	}
}

// TestThreadsAreLeft changes what a thread is over and over, from the first one
// too, and looks at what is left of that.
func TestThreadsAreLeft(t *testing.T) {
	t.Parallel()
	u := testUser(t)
	was := map[string]string{}
	tasks := func(then func(status, key string)) {
		names, err := filepath.Glob("/proc/self/task/*/status")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range append(names, "/proc/self/status") {
			data, err := os.ReadFile(name)
			if err != nil {
				continue // it has ended
			}
			for _, key := range []string{"Uid:", "CapEff:", "NoNewPrivs:"} {
				then(string(data), key)
			}
		}
	}
	own := read(t, "/proc/self/status")
	for _, key := range []string{"Uid:", "CapEff:", "NoNewPrivs:"} {
		was[key] = field(own, key)
	}
	for range 50 {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if err := Reaches(u, "/", NeedPass); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	until(t, "no thread is another's", func() bool {
		same := true
		tasks(func(status, key string) { same = same && field(status, key) == was[key] })
		return same
	})
}

// TestUserFindsAll has a process that shed all by which it could be found but
// whose it is.
func TestUserFindsAll(t *testing.T) {
	t.Parallel()
	u := testUser(t)
	p, output := launched(t, Launch{User: u, Args: []string{"-c", "env -i /bin/sh -c 'setsid sleep 1000 &'; echo up"}})
	ended(t, p)
	if !says(output, "up") || !UserBusy(u.UID) {
		t.Fatal("nothing runs on")
	}
	if err := p.Sweep(); err != nil {
		t.Error(err)
	}
	if UserBusy(u.UID) {
		t.Error("a process of the user is left")
	}
}

func TestUserOfAFolder(t *testing.T) {
	t.Parallel()
	u, other := testUser(t), testUser(t)
	dir := openDir(t)
	for _, f := range []struct {
		name     string
		mode     fs.FileMode
		uid, gid int
	}{
		{"own", 0o700 | fs.ModeDir, u.UID, u.GID},
		{"own/file", 0o600, u.UID, u.GID},
		{"weights", 0o750 | fs.ModeDir, 0, 64000},
		{"weights/file", 0o640, 0, 64000},
		{"secret", 0o600, 0, 0},
	} {
		path := filepath.Join(dir, f.name)
		create := func() error { return os.WriteFile(path, nil, 0o600) }
		if f.mode.IsDir() {
			create = func() error { return os.Mkdir(path, 0o700) }
		}
		if err := create(); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Chown(path, f.uid, f.gid), os.Chmod(path, f.mode.Perm())); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name  string
		user  User
		needs Needs
		at    string // empty: it reaches it
	}{
		{"own/file", u, NeedRead, ""},
		{"own/file", other, NeedRead, "own"},
		{"weights/file", u, NeedRead, ""},
		{"weights/file", u, 2, "weights/file"},
		{"weights/file", User{UID: u.UID, GID: u.GID}, NeedRead, "weights"},
		{"secret", u, NeedRead, "secret"},
		{"gone", u, NeedRead, "gone"},
		{"", u, NeedPass, ""},
		{"", u, NeedRead, "."},
		{"secret", User{}, NeedRead, ""},
	}
	for _, tt := range tests {
		err := Reaches(tt.user, filepath.Join(dir, tt.name), tt.needs)
		var closed *ClosedError
		switch {
		case tt.at == "" && err != nil:
			t.Errorf("%s for %d: %v", tt.name, tt.user.UID, err)
		case tt.at != "" && (!errors.As(err, &closed) || closed.At != filepath.Join(dir, tt.at)):
			t.Errorf("%s for %d: got %v, want it closed at %s", tt.name, tt.user.UID, err, tt.at)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("of root"), 0o600); err != nil {
		t.Errorf("the agent is somebody else since: %v", err)
	}
}

func TestSweepFiles(t *testing.T) {
	t.Parallel()
	u, other := testUser(t), testUser(t)
	dir := openDir(t)
	for name, uid := range map[string]int{"segment": u.UID, "of another": other.UID, "of root": 0} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chown(path, uid, uid)); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(dir, "link")
	if err := errors.Join(os.Symlink("of root", link), os.Lchown(link, u.UID, u.UID)); err != nil {
		t.Fatal(err)
	}
	sweepFiles(dir, u.UID)
	left, _ := os.ReadDir(dir)
	var names []string
	for _, e := range left {
		names = append(names, e.Name())
	}
	if want := []string{"of another", "of root"}; !slices.Equal(names, want) {
		t.Errorf("left are %q, want %q", names, want)
	}
}

func TestCanSwitch(t *testing.T) {
	t.Parallel()
	const all = "0 0 4294967295\n"
	tests := map[string]struct{ caps, uids, want string }{
		"whole":                {"000001ffffffffff", all, ""},
		"no SETUID, no PTRACE": {"000001fffff7ff7f", all, "without CAP_SETUID, CAP_SYS_PTRACE"},
		"few users":            {"000001ffffffffff", "0 1000 1\n1 100000 60000\n", "no users 64000 to 64999"},
		"enough users":         {"000001ffffffffff", "0 1000 1\n1 100000 65536\n", ""},
		"nothing said":         {"", all, "cannot be read"},
	}
	for name, tt := range tests {
		err := canSwitch("Name:\tx\nCapEff:\t"+tt.caps+"\n", tt.uids, all, 64000, 64999)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
}

func TestDeviceGroups(t *testing.T) {
	t.Parallel()
	file := func(mode fs.FileMode, gid int) *fstest.MapFile { return &fstest.MapFile{Mode: mode, Sys: gid} }
	root := fstest.MapFS{
		"dev/nvidia0":                 file(0o666, 7), // everybody's
		"dev/nvidia1":                 file(0o660, 44),
		"dev/nvidiactl":               file(0o660, 44),
		"dev/nvidia-caps/nvidia-cap1": file(0o440, 45), // nobody may write
		"dev/dri/renderD128":          file(0o660, 104),
		"dev/dri/by-path/pci-render":  file(0o660, 9), // a folder below
		"dev/kfd":                     file(0o660, 0), // root's own
		"dev/infiniband/uverbs0":      file(0o660, 110),
		"dev/sda":                     file(0o660, 6),
	}
	got := deviceGroups(root, func(info fs.FileInfo) (int, bool) { gid, ok := info.Sys().(int); return gid, ok })
	slices.Sort(got)
	if want := []int{44, 104, 110}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// launched starts a shell in a folder that every user gets to.
func launched(t *testing.T, l Launch) (p *Process, output string) {
	t.Helper()
	dir := openDir(t)
	output = filepath.Join(dir, "output")
	f, err := os.Create(output)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l.Path, l.Env, l.Dir, l.Output, l.Mark = "/bin/sh", []string{"PATH=" + os.Getenv("PATH")}, dir, f, "test."+t.Name()+"."+dir
	if p, err = Start(l); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Error(err)
		}
	})
	return p, output
}
