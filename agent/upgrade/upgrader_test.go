//go:build linux

package upgrade

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"llmgw.io/llmgw/agent/fetch"
	"llmgw.io/llmgw/internal/release"
	"llmgw.io/llmgw/internal/release/releasetest"
	"llmgw.io/llmgw/inventory"
)

// mirror serves files of releases.
type mirror map[string][]byte

func (m mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, ok := m[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(data)
}

// has signs a program as a release.
func (m mirror) has(pen releasetest.Pen, w release.Want, program []byte) {
	at := "/r/" + w.Version + "/" + w.File()
	m[at], m[at+".minisig"] = program, pen.Sign(program, w.Comment())
}

var next = release.Want{Version: "v0.0.2", OS: "linux", Arch: "amd64"}

// fixture is an upgrader of v0.0.1 and the mirror it asks.
func fixture(t *testing.T, change func(*Config)) (*Upgrader, mirror, releasetest.Pen) {
	t.Helper()
	m, pen := mirror{}, releasetest.NewPen()
	srv := httptest.NewServer(m)
	t.Cleanup(srv.Close)
	cfg := Config{Dir: t.TempDir(), Version: "v0.0.1", URL: srv.URL + "/r", Keys: []string{releasetest.NewPen().Key(), pen.Key()}, HTTP: srv.Client(), OS: "linux", Arch: "amd64", MaxBytes: 1 << 20}
	if change != nil {
		change(&cfg)
	}
	u, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return u, m, pen
}

// script is a program that says what a version would.
func script(said string) []byte { return []byte("#!/bin/sh\n" + said + "\n") }

var good = script("echo llmgw-agent v0.0.2 go linux/amd64")

// TestUpgradeIsTaken is what is there when the order was taken.
func TestUpgradeIsTaken(t *testing.T) {
	t.Parallel()
	var told []inventory.UpgradeState
	var u *Upgrader
	u, m, pen := fixture(t, func(c *Config) {
		c.Changed = func() { told = append(told, u.Status().State) }
	})
	m.has(pen, next, good)
	if err := u.Upgrade(t.Context(), "v0.0.2"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(u.dir, "v0.0.2", programName)
	data, err := os.ReadFile(path)
	info, statErr := os.Stat(path)
	if err != nil || string(data) != string(good) || statErr != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("got %q %v, %v, %v", data, info.Mode(), err, statErr)
	}
	s, err := readState(u.dir)
	if err != nil || s.Phase != inventory.UpgradeTrial || s.From != "v0.0.1" || s.Back != "" || s.Within != 45*time.Second || s.Most != 3 || !s.Installed.equal(u.me.have) {
		t.Errorf("got %+v, %v", s, err)
	}
	if at, err := os.Readlink(filepath.Join(u.dir, linkName)); at != "v0.0.2" {
		t.Errorf("current is %q, %v", at, err)
	}
	if len(told) != 2 || told[0] != inventory.UpgradeFetching || told[1] != inventory.UpgradeTrial {
		t.Errorf("told %v", told)
	}
	if err := u.Upgrade(t.Context(), "v0.0.3"); err == nil || !strings.Contains(err.Error(), "on trial with v0.0.2") {
		t.Errorf("a second one: %v", err)
	}
	if err := u.Healthy(); err != nil {
		t.Fatal(err)
	}
	if s, _ := readState(u.dir); s.Phase != inventory.UpgradeTrial {
		t.Error("the version before says that the one on trial works")
	}
}

// TestUpgradeIsRefused names the thing and the next step, and leaves everything as
// it was.
func TestUpgradeIsRefused(t *testing.T) {
	t.Parallel()
	older := next
	older.Version = "v0.0.1"
	for name, c := range map[string]struct {
		change  func(*Config)
		prepare func(t *testing.T, u *Upgrader, m mirror, pen releasetest.Pen)
		version string
		says    []string
	}{
		"no tag":       {nil, nil, "latest", []string{`"latest" is no release tag`, "v1.2.3"}},
		"a path":       {nil, nil, "v0.0.2/../..", []string{"is no release tag"}},
		"the same":     {nil, nil, "v0.0.1", []string{"v0.0.1 is not newer", "install the package"}},
		"older":        {nil, nil, "v0.0.1-rc.1", []string{"is not newer"}},
		"no key":       {func(c *Config) { c.Keys = nil }, nil, "v0.0.2", []string{"trusts no key", "releases.keys"}},
		"not released": {nil, nil, "v0.0.2", []string{"there is no http", "v0.0.2/llmgw-agent_linux_amd64.minisig", "releases.url"}},
		"another's key": {nil, func(_ *testing.T, _ *Upgrader, m mirror, _ releasetest.Pen) {
			m.has(releasetest.NewPen(), next, good)
		}, "v0.0.2", []string{"llmgw-agent_linux_amd64 of v0.0.2 is not taken: it is signed by key", "trusted is"}},
		"changed": {nil, func(_ *testing.T, _ *Upgrader, m mirror, pen releasetest.Pen) {
			m.has(pen, next, good)
			m["/r/v0.0.2/"+next.File()] = append(good, '#')
		}, "v0.0.2", []string{"does not fit", "look at what is at http"}},
		"an older one in its place": {nil, func(_ *testing.T, _ *Upgrader, m mirror, pen releasetest.Pen) {
			m.has(pen, older, good)
			for _, end := range []string{"", ".minisig"} {
				m["/r/v0.0.2/"+next.File()+end] = m["/r/v0.0.1/"+next.File()+end]
			}
		}, "v0.0.2", []string{"signed as version v0.0.1, and v0.0.2 was asked for"}},
		"another machine's": {func(c *Config) { c.Arch = "arm64" }, func(_ *testing.T, _ *Upgrader, m mirror, pen releasetest.Pen) {
			m.has(pen, next, good)
			for _, end := range []string{"", ".minisig"} {
				m["/r/v0.0.2/llmgw-agent_linux_arm64"+end] = m["/r/v0.0.2/"+next.File()+end]
			}
		}, "v0.0.2", []string{"signed as arch amd64, and arm64"}},
		"too large": {nil, func(_ *testing.T, _ *Upgrader, m mirror, pen releasetest.Pen) {
			m.has(pen, next, make([]byte, 1<<20+1))
		}, "v0.0.2", []string{"larger than 1048576 bytes"}},
		"does not run": {nil, func(_ *testing.T, _ *Upgrader, m mirror, pen releasetest.Pen) {
			m.has(pen, next, script("echo broken >&2; exit 3"))
		}, "v0.0.2", []string{"does not run on this machine", "exit status 3", "broken"}},
		"no program": {nil, func(_ *testing.T, _ *Upgrader, m mirror, pen releasetest.Pen) {
			m.has(pen, next, []byte("\x7fELF and no more"))
		}, "v0.0.2", []string{"does not run on this machine"}},
		"hangs": {func(c *Config) { c.Smoke = 50 * time.Millisecond }, func(_ *testing.T, _ *Upgrader, m mirror, pen releasetest.Pen) {
			m.has(pen, next, script("exec sleep 1000"))
		}, "v0.0.2", []string{"did not say its version within 50ms"}},
		"says another version": {nil, func(_ *testing.T, _ *Upgrader, m mirror, pen releasetest.Pen) {
			m.has(pen, next, script("echo llmgw-agent v0.0.9"))
		}, "v0.0.2", []string{`says of itself that it is "llmgw-agent v0.0.9"`}},
		"under way": {nil, func(_ *testing.T, u *Upgrader, _ mirror, _ releasetest.Pen) {
			u.busy.Lock()
		}, "v0.0.2", []string{"under way"}},
		"others may write": {nil, func(t *testing.T, u *Upgrader, _ mirror, _ releasetest.Pen) {
			if err := os.MkdirAll(u.dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(u.dir, 0o777); err != nil {
				t.Fatal(err)
			}
		}, "v0.0.2", []string{"others than root", "chmod go-w"}},
		"no folder": {nil, func(t *testing.T, u *Upgrader, _ mirror, _ releasetest.Pen) {
			if err := os.WriteFile(u.dir, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "v0.0.2", []string{"versions"}},
		"read only": {nil, func(t *testing.T, u *Upgrader, _ mirror, _ releasetest.Pen) {
			small(t, u.cfg.Dir, syscall.MS_RDONLY)
		}, "v0.0.2", []string{"cannot write to", "versions", "as root"}},
		"no programs run there": {nil, func(t *testing.T, u *Upgrader, m mirror, pen releasetest.Pen) {
			small(t, u.cfg.Dir, syscall.MS_NOEXEC)
			m.has(pen, next, good)
		}, "v0.0.2", []string{"noexec", "data folder on another disk"}},
		"no room": {nil, func(t *testing.T, u *Upgrader, m mirror, pen releasetest.Pen) {
			small(t, u.cfg.Dir, 0)
			m.has(pen, next, append(good, make([]byte, 200<<10)...))
		}, "v0.0.2", []string{"no room for another version on the disk of", "make some"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, m, pen := fixture(t, c.change)
			if c.prepare != nil {
				c.prepare(t, u, m, pen)
			}
			err := u.Upgrade(t.Context(), c.version)
			for _, s := range c.says {
				if err == nil || !strings.Contains(err.Error(), s) || strings.Contains(err.Error(), "release:") {
					t.Errorf("want %q, got %v", s, err)
				}
			}
			left, _ := filepath.Glob(filepath.Join(u.dir, "*"))
			hidden, _ := filepath.Glob(filepath.Join(u.dir, ".*"))
			if len(left)+len(hidden) > 0 || u.Status() != nil {
				t.Errorf("left behind: %v %v, status %+v", left, hidden, u.Status())
			}
		})
	}
}

// small mounts a file system of 100 KiB.
func small(t *testing.T, dir string, flags uintptr) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", flags, "size=100k"); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
}

// TestReleasesBreakOff are servers that do not do what they should.
func TestReleasesBreakOff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		says  string
	}{
		"short": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write(make([]byte, 10))
		}, "broke off after 10 bytes"},
		"says no length, and is too long": {func(w http.ResponseWriter, _ *http.Request) {
			for range 100 {
				_, _ = w.Write(make([]byte, 1<<10))
				w.(http.Flusher).Flush()
			}
		}, "larger than"},
		"is broken": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, "answers 502"},
	} {
		srv := httptest.NewServer(c.serve)
		t.Cleanup(srv.Close)
		u, _, _ := fixture(t, func(cfg *Config) { cfg.URL, cfg.HTTP = srv.URL, srv.Client() })
		if err := u.Upgrade(t.Context(), "v0.0.2"); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: want %q, got %v", name, c.says, err)
		}
	}
	u, _, _ := fixture(t, func(cfg *Config) { cfg.HTTP = nil }) // which keeps it from loopback
	if err := u.Upgrade(t.Context(), "v0.0.2"); err == nil || !strings.Contains(err.Error(), "under reach") {
		t.Errorf("a private address: %v", err)
	}
}

// TestReleasesInAFolder are for machines without a network.
func TestReleasesInAFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	u, m, pen := fixture(t, func(c *Config) { c.URL, c.Version = "file://"+dir, "dev" })
	m.has(pen, next, good)
	if err := u.Upgrade(t.Context(), "v0.0.2"); err == nil || !strings.Contains(err.Error(), "there is no file://"+dir) {
		t.Errorf("an empty folder: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "v0.0.2"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"", ".minisig"} {
		if err := os.WriteFile(filepath.Join(dir, "v0.0.2", next.File()+end), m["/r/v0.0.2/"+next.File()+end], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := u.Upgrade(t.Context(), "v0.0.2"); err != nil {
		t.Error(err)
	}
}

func TestNewIsStrict(t *testing.T) {
	t.Parallel()
	_, err := New(Config{Dir: "here", URL: "ftp://x", Keys: []string{"secret"}, Trial: -1})
	for _, want := range []string{"absolute folder", "releases.url", "releases.keys[0]", "releases.trial"} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("want %q in %v", want, err)
		}
	}
	for _, bad := range []string{"https://user:secret@h/r", "https://h/r?token=secret", "file://host/r", "https://"} {
		if _, err := New(Config{Dir: t.TempDir(), URL: bad}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, err := New(Config{Dir: t.TempDir(), URL: "https://h/r", Reach: fetch.Reach{Private: []string{"x"}}}); err == nil {
		t.Error("a bad allowance is taken")
	}
}
