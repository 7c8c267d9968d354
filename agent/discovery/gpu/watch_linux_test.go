package gpu

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func cancelable(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithCancel(t.Context())
}

// waitHeard waits for the first messages; the test's own limit ends it.
func waitHeard(t *testing.T, w *Watch) []Event {
	t.Helper()
	for t.Context().Err() == nil {
		if list := w.Heard(); len(list) > 0 {
			return list
		}
		runtime.Gosched()
	}
	t.Fatal("nothing was heard")
	return nil
}

func TestKernelLine(t *testing.T) {
	t.Parallel()
	now := time.Unix(1, 0)
	for line, want := range map[string]Event{
		"3,1,2,-;NVRM: Xid (PCI:0000:18:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.": {PCI: "0000:18:00.0", XID: 79},
		"4,1,2,-;NVRM: Xid (0000:af:00.0): 31, Ch 00000008, intr 10000000. MMU Fault":                          {PCI: "0000:af:00.0", XID: 31},
		"3,1,2,-;[drm] x: NVRM: Xid (PCI:000f:01:00): 154, GPU recovery action changed":                        {PCI: "000f:01:00.0", XID: 154},
		"3,1,2,-;NVRM: GPU 0000:18:00.0: GPU has fallen off the bus.":                                          {PCI: "0000:18:00.0", OffBus: true},
		"3,1,2,-;NVRM: GPU at PCI:0000:18:00 has fallen off the bus.":                                          {PCI: "0000:18:00.0", OffBus: true},
		"12,1,2,-;NVRM: Xid (PCI:0000:18:00): 79, a program wrote this":                                        {},
		"3,1,2,-;NVRM: loading":           {},
		"NVRM: Xid (PCI:0000:18:00): 79,": {},
		"":                                {},
	} {
		e, ok := kernelLine(line, now, false)
		if ok {
			want.At = now
		}
		if d := cmp.Diff(want, e); d != "" || ok != (e != Event{}) {
			t.Errorf("%q (-want +got):\n%s", line, d)
		}
	}
}

// What is in the log when the agent starts is old, and what comes later is not.
func TestWatchHearsTheKernel(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kmsg")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	say := func(line string) {
		t.Helper()
		if _, err := log.WriteString(line + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	say("3,1,2,-;NVRM: Xid (PCI:0000:18:00): 48, old")
	say(" SUBSYSTEM=pci")
	w := NewWatch(WatchConfig{Kernel: path})
	ctx, stop := cancelable(t)
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	got := waitHeard(t, w)
	say("6,2,3,-;usb 1-1: something else")
	say("3,3,4,-;NVRM: Xid (PCI:0000:20:00): 95, new")
	got = append(got, waitHeard(t, w)...)
	stop()
	if err := <-done; err != nil {
		t.Errorf("want no error at the end, got %v", err)
	}
	want := []Event{{PCI: "0000:18:00.0", XID: 48, Old: true}, {PCI: "0000:20:00.0", XID: 95}}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(Event{}, "At")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
