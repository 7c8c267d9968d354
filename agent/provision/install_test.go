package provision_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/agent/fetch"
	"llmgw.io/llmgw/agent/provision"
	"llmgw.io/llmgw/inventory"
)

// mirror serves releases of a made-up llama.cpp, each a script that says its
// version, or fails.
type mirror struct {
	*httptest.Server
	dir string
	m   provision.Manifest
}

func newMirror(t *testing.T) *mirror {
	t.Helper()
	m := &mirror{dir: t.TempDir()}
	m.Server = httptest.NewServer(http.FileServer(http.Dir(m.dir)))
	t.Cleanup(m.Close)
	return m
}

// offer puts a release of one script onto the mirror, in place of the one of its
// build.
func (m *mirror) offer(t *testing.T, version, build, script string) {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	w := tar.NewWriter(z)
	for _, h := range []*tar.Header{
		{Name: "bin/", Typeflag: tar.TypeDir, Mode: 0o755},
		{Name: "bin/llama-server", Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(script))},
		{Name: "bin/server", Typeflag: tar.TypeSymlink, Linkname: "llama-server"},
	} {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			_, _ = w.Write([]byte(script))
		}
	}
	_, _ = w.Close(), z.Close()
	name := "llama-" + version + "-" + build + ".tar.gz"
	m.write(t, name, buf.Bytes())
	sum := sha256.Sum256(buf.Bytes())
	r := provision.Release{
		Engine: "llamacpp", Version: version, Build: build, OS: "linux", Arch: "amd64", Kind: provision.KindArchive, Program: "bin/llama-server",
		Files: []provision.File{{Path: name, SHA256: hex.EncodeToString(sum[:]), Bytes: int64(buf.Len())}},
	}
	for i := range m.m.Releases {
		if m.m.Releases[i].Build == build {
			m.m.Releases[i] = r
			return
		}
	}
	m.m.Releases = append(m.m.Releases, r)
}

func (m *mirror) write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, name), data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// publish writes the manifest and gives its pin.
func (m *mirror) publish(t *testing.T) string {
	t.Helper()
	data, err := json.Marshal(m.m)
	if err != nil {
		t.Fatal(err)
	}
	m.write(t, "manifest.json", data)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// node is an Installer that runs, and tells of changes.
type node struct {
	*provision.Installer
	changed chan struct{}
}

func startNode(t *testing.T, m *mirror, dir, pin string) *node {
	t.Helper()
	f, err := fetch.New(fetch.Config{Dir: filepath.Join(dir, ".fetch"), HTTP: m.Client(), LowWaterBytes: 1, Retry: time.Millisecond, Look: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	n := &node{changed: make(chan struct{}, 1)}
	n.Installer, err = provision.New(provision.Config{
		Dir: dir, Mirror: m.URL, Pin: pin, Fetch: f, OS: "linux", Arch: "amd64",
		Changed: func() {
			select {
			case n.changed <- struct{}{}:
			default:
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = n.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	n.Found(inventory.Facts{Arch: "amd64"})
	return n
}

// until waits for a state of the node that ok takes.
func (n *node) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for !ok() {
		select {
		case <-n.changed:
		case <-t.Context().Done():
			t.Fatalf("never: %s; status %+v", what, n.Status())
		}
	}
}

func (n *node) failed() string {
	for _, e := range n.Status() {
		if e.State == inventory.InstallFailed {
			return e.Error
		}
	}
	return ""
}

func (n *node) runs(t *testing.T) string {
	t.Helper()
	p := n.Programs("llamacpp")
	if len(p) == 0 {
		return "nothing"
	}
	out, err := exec.Command(p[0].Path, "--version").CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

const works = "#!/bin/sh\necho version: VERSION\n"

func script(version string) string { return strings.ReplaceAll(works, "VERSION", version) }

func TestInstall(t *testing.T) {
	t.Parallel()
	m, dir := newMirror(t), t.TempDir()
	m.offer(t, "b1", "cpu", script("b1"))
	n := startNode(t, m, dir, m.publish(t))
	n.Want(map[string]string{"llamacpp": "auto"})
	n.until(t, "b1 is installed", func() bool { return len(n.Programs("llamacpp")) == 1 && len(n.Status()) == 0 })
	if got := n.runs(t); got != "version: b1" {
		t.Errorf("the first runs %q", got)
	}
	// A fresh Installer finds what is there, and asks the mirror for nothing big.
	if err := os.Remove(filepath.Join(m.dir, "llama-b1-cpu.tar.gz")); err != nil {
		t.Fatal(err)
	}
	n2 := startNode(t, m, dir, m.publish(t))
	n2.Want(map[string]string{"llamacpp": "cpu"})
	n2.until(t, "b1 is found", func() bool { return len(n2.Status()) == 0 && n2.runs(t) == "version: b1" })
}

// TestNewerReplacesProvedOnly holds an upgrade to its proof: what does not run is
// not used, what runs keeps the one before it and no more.
func TestNewerReplacesProvedOnly(t *testing.T) {
	t.Parallel()
	m, dir := newMirror(t), t.TempDir()
	next := func(version, text string) *node {
		m.offer(t, version, "cpu", text)
		n := startNode(t, m, dir, m.publish(t))
		n.Want(map[string]string{"llamacpp": "cpu"})
		n.until(t, "an end of "+version, func() bool { return n.failed() != "" || n.runs(t) == "version: "+version })
		return n
	}
	next("b1", script("b1"))
	n := next("b2", "#!/bin/sh\necho libcudart.so.13: cannot open shared object file >&2\nexit 127\n")
	if got := n.failed(); !strings.Contains(got, "libcudart.so.13") || !strings.Contains(got, "not used") {
		t.Errorf("a build that does not run is told as %q", got)
	}
	if got := n.runs(t); got != "version: b1" {
		t.Errorf("after a failure runs %q", got)
	}
	next("b3", script("b3"))
	n = next("b4", script("b4"))
	if p := n.Programs("llamacpp"); len(p) != 2 || p[0].Build.Version != "b4" || p[1].Build.Version != "b3" {
		t.Errorf("kept are %+v", p)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "llamacpp"))
	if err != nil || len(entries) != 3 { // two builds and the record
		t.Errorf("on disk are %v, %v", entries, err)
	}
}

// TestWhatIsRefused holds each thing that may not be installed to a sentence
// that names it.
func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(m *mirror, pin string) (string, string) // gives pin and choice
		want  string
	}{
		"another manifest": {func(m *mirror, pin string) (string, string) {
			m.write(t, "manifest.json", []byte(`{"releases":[]}`))
			return pin, "cpu"
		}, "manifest"},
		"another archive": {func(m *mirror, pin string) (string, string) {
			data, _ := os.ReadFile(filepath.Join(m.dir, "llama-b1-cpu.tar.gz"))
			data[len(data)-1] ^= 1
			m.write(t, "llama-b1-cpu.tar.gz", data)
			return pin, "cpu"
		}, "llama-b1-cpu.tar.gz"},
		"a build that nobody made": {func(_ *mirror, pin string) (string, string) { return pin, "cu129" }, "no build cu129 of llamacpp for linux/amd64"},
		"a build that is none":     {func(_ *mirror, pin string) (string, string) { return pin, "latest" }, `no build "latest"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMirror(t)
			m.offer(t, "b1", "cpu", script("b1"))
			pin, choice := c.spoil(m, m.publish(t))
			n := startNode(t, m, t.TempDir(), pin)
			n.Want(map[string]string{"llamacpp": choice})
			n.until(t, "it is refused", func() bool { return n.failed() != "" })
			if got := n.failed(); !strings.Contains(got, c.want) {
				t.Errorf("told as %q, want %q in it", got, c.want)
			}
			if got := n.runs(t); got != "nothing" {
				t.Errorf("%s was installed", got)
			}
		})
	}
}

func TestNoMirror(t *testing.T) {
	t.Parallel()
	in, err := provision.New(provision.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	n := &node{Installer: in, changed: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = in.Run(ctx) }()
	in.Found(inventory.Facts{Arch: "amd64"})
	in.Want(map[string]string{"llamacpp": "cpu", "vllm": "auto"})
	for n.failed() == "" {
		if t.Context().Err() != nil {
			t.Fatal("never told")
		}
	}
	if got := n.failed(); !strings.Contains(got, "engines.mirror") {
		t.Errorf("told as %q", got)
	}
	cancel()
	<-done
}

func TestConfig(t *testing.T) {
	t.Parallel()
	_, err := provision.New(provision.Config{Dir: "engines", Mirror: "mirror/engines"})
	for _, want := range []string{"absolute", "https://", "pinned"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
}
