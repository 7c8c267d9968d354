package release

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"llmgw.io/llmgw/internal/release/releasetest"
)

func key(t *testing.T, p releasetest.Pen) Key {
	t.Helper()
	k, err := ParseKey(p.Key())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

var want = Want{Version: "v0.0.2", OS: "linux", Arch: "amd64"}

func TestVerify(t *testing.T) {
	t.Parallel()
	ours, next, theirs := releasetest.NewPen(), releasetest.NewPen(), releasetest.NewPen()
	keys := []Key{key(t, ours), key(t, next)}
	twin := theirs // says that it is our key, and is not
	twin.ID = ours.ID
	file, other := []byte("the program"), []byte("another program")
	good := want.Comment()
	swap := func(old, replaced string) string { return strings.Replace(good, old, replaced, 1) }
	for name, c := range map[string]struct {
		file, sig []byte
		says      string // empty: it is good
	}{
		"hashed":             {file, ours.Sign(file, good), ""},
		"legacy":             {file, ours.SignLegacy(file, good), ""},
		"the next key":       {file, next.Sign(file, good), ""},
		"more in comment":    {file, ours.Sign(file, "timestamp:1 "+good+"\thashed"), ""},
		"lines end with CR":  {file, bytes.ReplaceAll(ours.Sign(file, good), []byte("\n"), []byte("\r\n")), ""},
		"another file":       {other, ours.Sign(file, good), "does not fit"},
		"cut":                {file[:5], ours.Sign(file, good), "does not fit"},
		"nobody's key":       {file, theirs.Sign(file, good), "signed by key " + key(t, theirs).ID()},
		"a false name":       {file, twin.Sign(file, good), "does not fit"},
		"older":              {file, ours.Sign(file, swap("v0.0.2", "v0.0.1")), "signed as version v0.0.1"},
		"another machine":    {file, ours.Sign(file, swap("arch:amd64", "arch:arm64")), "signed as arch arm64"},
		"another system":     {file, ours.Sign(file, swap("os:linux", "os:plan9")), "signed as os plan9"},
		"another name":       {file, ours.Sign(file, swap("file:llmgw-agent", "file:llmgw-control")), "signed as file llmgw-control"},
		"no version":         {file, ours.Sign(file, swap("version:v0.0.2", "")), "says no version"},
		"two versions":       {file, ours.Sign(file, good+" version:v0.0.1"), "version twice"},
		"comment exchanged":  {file, bytes.Replace(ours.Sign(file, swap("v0.0.2", "v0.0.1")), []byte("version:v0.0.1"), []byte("version:v0.0.2"), 1), "does not fit"},
		"nothing":            {file, nil, "cannot be read"},
		"no signature":       {file, []byte("<html>not found</html>"), "cannot be read"},
		"a short one":        {file, ours.Sign(file, good)[:60], "cannot be read"},
		"a very long one":    {file, append(ours.Sign(file, good), make([]byte, MaxSignature)...), "a few hundred"},
		"an empty file":      {nil, ours.Sign(file, good), "does not fit"},
		"no trusted comment": {file, bytes.Replace(ours.Sign(file, good), []byte("trusted comment: v"), []byte("xx"), 1), "does not fit"},
	} {
		err := Verify(keys, want, c.file, c.sig)
		if c.says == "" && err != nil || c.says != "" && (!errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: want %q, got %v", name, c.says, err)
		}
	}
	if err := Verify(nil, want, file, ours.Sign(file, good)); !errors.Is(err, ErrRefused) {
		t.Errorf("without a key nothing is good, got %v", err)
	}
}

func TestParseKey(t *testing.T) {
	t.Parallel()
	p := releasetest.NewPen()
	for _, text := range []string{p.Key(), p.Key() + "\n", "untrusted comment: minisign public key\n" + p.Key() + "\n"} {
		if k, err := ParseKey(text); err != nil || k.ID() != key(t, p).ID() {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"", "RW", "secret", p.Key()[:50], base64.StdEncoding.EncodeToString(make([]byte, 42))} {
		if _, err := ParseKey(text); err == nil || !strings.Contains(err.Error(), ".pub file") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestMinisign is held against the real program, where it is.
func TestMinisign(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("minisign")
	if err != nil {
		t.Skip("minisign is not installed")
	}
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("minisign %v: %v\n%s", args, err, out)
		}
	}
	read := func(name string) []byte {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("the program"), 0o600); err != nil {
		t.Fatal(err)
	}
	run("-G", "-W", "-p", "k.pub", "-s", "k.key")
	run("-S", "-s", "k.key", "-m", "f", "-x", "f.minisig", "-t", want.Comment())
	k, err := ParseKey(string(read("k.pub")))
	if err != nil || !strings.Contains(string(read("k.pub")), k.ID()) {
		t.Fatalf("key %s, %v", k.ID(), err)
	}
	if err := Verify([]Key{k}, want, read("f"), read("f.minisig")); err != nil {
		t.Error(err)
	}
	if err := Verify([]Key{k}, want, []byte("another"), read("f.minisig")); !errors.Is(err, ErrRefused) {
		t.Errorf("another file: %v", err)
	}
}

func FuzzVerify(f *testing.F) {
	f.Add([]byte("untrusted comment: x\nRUQf\ntrusted comment: version:v0.0.2\nAA==\n"), []byte("file"))
	f.Add(make([]byte, 100), []byte{})
	f.Fuzz(func(t *testing.T, sig, file []byte) {
		if err := Verify([]Key{{}}, want, file, sig); err == nil {
			t.Error("nobody signed this")
		}
	})
}

func TestVersions(t *testing.T) {
	t.Parallel()
	// In order, each newer than all before it.
	order := []string{
		"v0.0.1", "v0.0.2-0", "v0.0.2-2", "v0.0.2-10", "v0.0.2-alpha", "v0.0.2-alpha.1", "v0.0.2-alpha.beta", "v0.0.2-beta.2",
		"v0.0.2-beta.11", "v0.0.2-rc.1", "v0.0.2", "v0.0.10", "v0.1.0", "v1.0.0", "v1.0.1", "v10.0.0",
	}
	for i, a := range order {
		if err := CheckTag(a); err != nil {
			t.Error(err)
		}
		for j, b := range order {
			if got := Newer(a, b); got != (i > j) {
				t.Errorf("%s newer than %s: got %v", a, b, got)
			}
		}
	}
	for _, c := range []struct {
		next, runs string
		newer      bool
	}{
		{"v0.1.0", "dev", true},
		{"v0.0.1", "", true},
		{"v0.0.1", "(devel)", true},
		{"v0.1.0", "v0.1.0-4-gabc1234", false},
		{"v0.1.1", "v0.1.0-4-gabc1234", true},
		{"v0.1.0", "v0.1.0-rc.1-4-gabc1234", true},
		{"v0.1.0", "v0.1.0-4-gabc1234-dirty", false},
		{"v0.0.1", "v0.0.0+20260102.gabc", true},
		{"v0.0.0", "v0.0.0+20260102.gabc", false},
		{"dev", "v0.0.1", false},
		{"latest", "dev", false},
	} {
		if got := Newer(c.next, c.runs); got != c.newer {
			t.Errorf("%s after %s: got %v", c.next, c.runs, got)
		}
	}
	for _, bad := range []string{
		"", "latest", "1.2.3", "v1.2", "v1.2.3.4", "v01.2.3", "v1.2.3-", "v1.2.3-a..b", "v1.2.3-01", "v1.2.3+build", "v1.2.3/../..", "v1.2.3 ",
		"V1.2.3", "v1.2.3-ü", "v9999999999.0.0", "v1.2.3-" + strings.Repeat("a", 60), "v1.2.3\n",
	} {
		if err := CheckTag(bad); err == nil || !strings.Contains(err.Error(), "v1.2.3-rc.1") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
