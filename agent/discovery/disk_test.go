package discovery

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/inventory"
)

// disksAt is a machine with mounts at the places below a folder that exists.
func disksAt(t *testing.T, lines string, dirs ...string) (*Prober, string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var at []string
	for _, d := range dirs {
		at = append(at, filepath.Join(base, d))
	}
	mounts := "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n" + strings.ReplaceAll(lines, "BASE", base)
	p := whole().with(tree{"proc/self/mountinfo": mounts}).prober(t, func(c *Config) { c.WeightsDirs = at })
	for _, d := range at {
		if !strings.HasSuffix(d, "later") {
			if err := os.MkdirAll(d, 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	return p, base
}

func TestDisksAreCountedOnceAndSharedOnesNot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		lines string
		dirs  []string
		disks int64
		warns string
	}{
		{"root", "", []string{"w"}, 1, ""},
		{"not there yet", "", []string{"a/b/later"}, 1, ""},
		{"two folders of one", "", []string{"w", "v"}, 1, ""},
		{"two disks", "30 20 8:17 / BASE/v rw - xfs /dev/sdb1 rw\n", []string{"w", "v"}, 2, ""},
		{"one disk in two places", "30 20 8:1 /x BASE/v rw - ext4 /dev/sda1 rw\n", []string{"w", "v"}, 1, ""},
		{"shared beside", "30 20 0:44 / BASE/v rw - nfs4 server:/w rw\n", []string{"w", "v"}, 1, "shared file system (nfs4)"},
		{"shared only", "30 20 0:44 / BASE/v rw - fuse.sshfs server:/w rw\n", []string{"v"}, 0, "shared file system (fuse.sshfs)"},
		{"the last at one place", "30 20 0:44 / BASE/v rw - nfs server:/w rw\n31 20 8:33 / BASE/v rw - xfs /dev/sdc1 rw\n", []string{"v"}, 1, ""},
		{"a neighbour's beginning", "30 20 0:44 / BASE/w rw - nfs server:/w rw\n", []string{"ww"}, 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, _ := disksAt(t, c.lines, c.dirs...)
			f := p.Facts(t.Context())
			if f.DiskTotalMB != c.disks*100<<10 || f.DiskFreeMB != c.disks*40<<10 {
				t.Errorf("want %d disks counted, got %d MiB, %d free", c.disks, f.DiskTotalMB, f.DiskFreeMB)
			}
			if got := p.Sample(t.Context()).DiskFreeBytes; got != c.disks*40<<30 {
				t.Errorf("want the sample to agree, got %d", got)
			}
			if c.warns == "" && len(f.Warnings) != 0 || !contains(append(f.Warnings, ""), c.warns) {
				t.Errorf("want the warning %q, got %q", c.warns, f.Warnings)
			}
		})
	}
}

func TestADiskBehindALinkIsFound(t *testing.T) {
	t.Parallel()
	p, base := disksAt(t, "30 20 0:44 / BASE/far rw - nfs server:/w rw\n", "far", "later")
	if err := os.Symlink(filepath.Join(base, "far"), filepath.Join(base, "later")); err != nil {
		t.Fatal(err)
	}
	if f := p.Facts(t.Context()); f.DiskTotalMB != 0 {
		t.Errorf("want the link's shared disk not counted, got %d MiB", f.DiskTotalMB)
	}
}

func TestADiskThatFailsIsAWarning(t *testing.T) {
	t.Parallel()
	p, _ := disksAt(t, "30 20 8:17 / BASE/v rw - xfs /dev/sdb1 rw\n", "w", "v")
	p.room = func(path string) (diskRoom, error) {
		if strings.HasSuffix(path, "v") {
			return diskRoom{}, errors.New("input/output error")
		}
		return diskRoom{total: 1 << 30, free: 1 << 29}, nil
	}
	f := p.Facts(t.Context())
	if f.DiskTotalMB != 1024 || !contains(f.Warnings, "input/output error") {
		t.Errorf("want the other disk and a warning, got %d MiB and %q", f.DiskTotalMB, f.Warnings)
	}
}

// A file system that hangs is asked once, however often the facts are wanted.
func TestWhatHangsIsAskedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g guard
		asked, answer := 0, make(chan struct{})
		ask := func() error {
			_, err := guarded(t.Context(), &g, "the folder /w", func(context.Context) (int, error) {
				asked++
				<-answer
				return 1, nil
			})
			return err
		}
		if err := ask(); err == nil || !strings.Contains(err.Error(), "does not answer") {
			t.Errorf("want it given up, got %v", err)
		}
		if err := ask(); err == nil || !strings.Contains(err.Error(), "since it was last asked") {
			t.Errorf("want it not asked again, got %v", err)
		}
		close(answer)
		synctest.Wait()
		if err := ask(); err != nil || asked != 2 {
			t.Errorf("once it answers again: want it asked, got %v after %d", err, asked)
		}
	})
}

func TestMountinfoEscapes(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{`/a\040b`: "/a b", `/a\134`: `/a\`, `/a\9`: `/a\9`, `/a\04`: `/a\04`} {
		if got := unescape(in); got != want {
			t.Errorf("%s: want %q, got %q", in, want, got)
		}
	}
}

// ggufOf is a small file of weights, whole, with n bytes of them.
func ggufOf(n int) string {
	b := append([]byte("GGUF"), 3, 0, 0, 0)
	for _, v := range []uint64{1, 0, 1} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	b = append(b, 't', 1, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(n))
	b = append(b, 24, 0, 0, 0) // of one byte each
	b = binary.LittleEndian.AppendUint64(b, 0)
	return string(b) + strings.Repeat("\x00", 32-len(b)%32) + strings.Repeat("w", n)
}

// tensorsOf is the same in the other format.
func tensorsOf(n int) string {
	head := `{"t":{"data_offsets":[0,` + strconv.Itoa(n) + `]}}`
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(head)))) + head + strings.Repeat("w", n)
}

func TestWeightsOnDisk(t *testing.T) {
	t.Parallel()
	base, st := int64(len(ggufOf(0))), int64(len(tensorsOf(1))-1)
	index := `{"weight_map":{"a":"model-1.safetensors","b":"model-2.safetensors"}}`
	one := tree{
		"chat.gguf": ggufOf(5), "big/m-00001-of-00002.gguf": ggufOf(3), "big/m-00002-of-00002.gguf": ggufOf(4), "sub/x/model-00001-of-00001.SAFETENSORS": tensorsOf(1),
		"half.gguf.part": "1", "empty.gguf": "", "readme.md": "x", "deep/1/2/3/4/5/6/7/8/9/m.gguf": ggufOf(1), "blobs/abc": ggufOf(6),
		"lost/m-00002-of-00003.gguf": ggufOf(1), "lost/m-00003-of-00003.gguf": ggufOf(2),
		"copied.gguf": ggufOf(50)[:90], "text.gguf": "a text that somebody gave this name", "cut.safetensors": tensorsOf(50)[:60],
		"hub/model-1.safetensors": tensorsOf(7), "hub/model.safetensors.index.json": index, "hub/blobs/x.incomplete": "123",
		"whole/model-1.safetensors": tensorsOf(8), "whole/model-2.safetensors": tensorsOf(9), "whole/model.safetensors.index.json": index,
	}.write(t)
	if err := os.MkdirAll(filepath.Join(one, "snapshots"), 0o700); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"snapshots/m.gguf": "../blobs/abc", "snapshots/gone.gguf": "../blobs/none"} {
		if err := os.Symlink(to, filepath.Join(one, link)); err != nil {
			t.Fatal(err)
		}
	}
	two := tree{"chat.gguf": ggufOf(99), "more.gguf": ggufOf(1)}.write(t)
	p := whole().prober(t, func(c *Config) { c.WeightsDirs = []string{one, two, filepath.Join(one, "not-there")} })
	f := p.Facts(t.Context())
	want := []inventory.Weight{
		{Path: "big/m-00001-of-00002.gguf", Bytes: base + 3},
		{Path: "big/m-00002-of-00002.gguf", Bytes: base + 4},
		{Path: "chat.gguf", Bytes: base + 5},
		{Path: "hub/model-1.safetensors", Bytes: st + 7, Lacks: "model-2.safetensors"},
		{Path: "lost/m-00002-of-00003.gguf", Bytes: base + 1, Lacks: "m-00001-of-00003.gguf"},
		{Path: "lost/m-00003-of-00003.gguf", Bytes: base + 2, Lacks: "m-00001-of-00003.gguf"},
		{Path: "more.gguf", Bytes: base + 1},
		{Path: "snapshots/m.gguf", Bytes: base + 6},
		{Path: "sub/x/model-00001-of-00001.SAFETENSORS", Bytes: st + 1},
		{Path: "whole/model-1.safetensors", Bytes: st + 8},
		{Path: "whole/model-2.safetensors", Bytes: st + 9},
	}
	if d := cmp.Diff(want, f.Weights); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if len(f.Warnings) != 0 {
		t.Errorf("want no warnings, got %q", f.Warnings)
	}
	// A copy that is done, and a file that is gone, are seen at the next look.
	if err := os.WriteFile(filepath.Join(one, "copied.gguf"), []byte(ggufOf(50)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(one, "chat.gguf")); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, w := range p.Facts(t.Context()).Weights {
		names = append(names, w.Path)
	}
	if !slices.Contains(names, "copied.gguf") || !slices.Contains(names, "chat.gguf") || len(names) != len(want)+1 {
		t.Errorf("after a copy was done and a file removed there are %v", names) // the second chat.gguf shows now
	}
	empty := whole().prober(t, func(c *Config) { c.WeightsDirs = []string{t.TempDir()} })
	if got := empty.Facts(t.Context()).Weights; got == nil || len(got) != 0 {
		t.Errorf("looked and found nothing: want an empty list, got %#v", got)
	}
}

func TestTheWalkOfWeightsIsBounded(t *testing.T) {
	t.Parallel()
	files := tree{}
	for i := range mostWeights + 1 {
		files["w"+strconv.Itoa(i)+".gguf"] = ggufOf(1)
	}
	dir := files.write(t)
	f := whole().prober(t, func(c *Config) { c.WeightsDirs = []string{dir} }).Facts(t.Context())
	if len(f.Weights) != mostWeights || !contains(f.Warnings, "the rest is left out") {
		t.Errorf("want %d and a warning, got %d and %q", mostWeights, len(f.Weights), f.Warnings)
	}
}
