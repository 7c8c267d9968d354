//go:build cgo

package gpu

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// fakeLibrary compiles the stand-in for the driver's library.
func fakeLibrary(t *testing.T, defines ...string) string {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("there is no gcc to compile a stand-in for the driver's library")
	}
	path := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	args := []string{"-shared", "-fPIC", "-w", "-o", path, "testdata/fakelib/fake.c"}
	for _, d := range defines {
		args = append(args, "-D"+d)
	}
	if out, err := exec.Command(gcc, args...).CombinedOutput(); err != nil {
		t.Fatalf("compile the stand-in: %v\n%s", err, out)
	}
	return path
}

// child is one that reads the library in a process of its own.
func child(t *testing.T, library string, limit time.Duration) *Child {
	t.Helper()
	c, err := NewChild(ChildConfig{Command: []string{os.Args[0], "child-snapshot", library}, Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestChildReadsTheLibrary(t *testing.T) {
	t.Parallel()
	s, err := child(t, fakeLibrary(t, "FABRIC"), 0).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fabric := &Fabric{State: 3, Cluster: "01020304-0506-0708-090a-0b0c0d0e0f10", Clique: 32766, Health: 2}
	card := func(i int, pci string, width int) Card {
		return Card{
			Index: i, UUID: []string{"GPU-00000000-0000-0000-0000-000000000000", "GPU-00000001-0000-0000-0000-000000000000"}[i],
			Name: "NVIDIA H100 80GB HBM3", PCI: pci, MemoryMB: 81559, Capability: "9.0", MIG: &MIG{}, Linked: []int{1 - i}, LinksUp: ptr(18), Fabric: fabric,
			State: State{Uncorrected: ptr(int64(0)), RemapPending: ptr(false), RemapFailed: ptr(false), Width: &width, MaxWidth: ptr(16)},
			Sensors: Sensors{
				TempC: ptr(41.0), PowerW: ptr(71.5), UtilPercent: ptr(12.0), UsedMB: ptr(int64(1000)),
			},
		}
	}
	want := Snapshot{Driver: "570.10.fake", CUDA: "12.8", Cards: []Card{card(0, "0000:1a:00.0", 16), card(1, "0000:1b:00.0", 8)}}
	want.Cards[1].Process = []Process{{PID: 4321, UsedMB: 700}}
	if d := cmp.Diff(want, s, cmpopts.IgnoreFields(Snapshot{}, "At")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestChildReadsInstances(t *testing.T) {
	t.Parallel()
	s, err := child(t, fakeLibrary(t, "MIG"), 0).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	used := int64(1000)
	want := &MIG{On: true, Instances: []Instance{
		{Index: 0, UUID: "MIG-00000100-0000-0000-0000-000000000000", Profile: "3g.40gb", MemoryMB: 40448, UsedMB: &used},
		{Index: 2, UUID: "MIG-00000102-0000-0000-0000-000000000000", Profile: "3g.40gb", MemoryMB: 40448, UsedMB: &used},
	}}
	if d := cmp.Diff(want, s.Cards[0].MIG); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if s.Cards[0].Sensors.UtilPercent != nil {
		t.Error("of a partitioned card nobody knows how busy it is")
	}
}

func TestChildReadsALostCard(t *testing.T) {
	t.Parallel()
	s, err := child(t, fakeLibrary(t, "LOST"), 0).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Card{Index: 1, PCI: "0000:1b:00.0", Lost: "GPU is lost"}, s.Cards[1]); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if s.Cards[0].Lost != "" {
		t.Errorf("the other card is there, got %q", s.Cards[0].Lost)
	}
}

// What a driver does to the process that asks it ends the child and not the agent.
func TestChildSaysWhyItFailed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		library string
		limit   time.Duration
		kind    error
		want    string
	}{
		"no library":         {library: "/nowhere/libnvidia-ml.so.1", kind: ErrNoDriver, want: "libnvidia-ml.so.1 is not installed"},
		"a missing function": {library: fakeLibrary(t, "OLD"), want: "the driver is too old for the call nvmlDeviceGetFieldValues"},
		"no kernel module":   {library: fakeLibrary(t, "BEGIN=9"), want: "its kernel module is not loaded"},
		"two versions":       {library: fakeLibrary(t, "BEGIN=18"), want: "of different versions"},
		"no right":           {library: fakeLibrary(t, "BEGIN=4"), want: "let its user read and write /dev/nvidia*"},
		"a container":        {library: fakeLibrary(t, "BEGIN=999"), want: "start the agent anew"},
		"a hang":             {library: fakeLibrary(t, "HANG"), limit: 500 * time.Millisecond, kind: ErrSilent, want: "does not answer within"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := child(t, c.library, c.limit).Snapshot(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want %q, got %v", c.want, err)
			}
			if c.kind != nil && !errors.Is(err, c.kind) {
				t.Errorf("want a %v, got %v", c.kind, err)
			}
		})
	}
}

// Where the kernel's log cannot be read a child hears the driver.
func TestWatchHearsTheDriverByAChild(t *testing.T) {
	t.Parallel()
	w := NewWatch(WatchConfig{Kernel: "/nowhere/kmsg", Command: []string{os.Args[0], "child-events", fakeLibrary(t)}})
	done := make(chan error, 1)
	ctx, stop := cancelable(t)
	go func() { done <- w.Run(ctx) }()
	got := waitHeard(t, w)
	stop()
	if err := <-done; err != nil {
		t.Errorf("want no error at the end, got %v", err)
	}
	want := []Event{{PCI: "0000:1b:00.0", UUID: "GPU-00000001-0000-0000-0000-000000000000", XID: 48}}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(Event{}, "At")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
