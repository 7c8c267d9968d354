//go:build e2e && unix

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/internal/tinygguf"
)

// over is a model that is fetched, and that the simulated engine plays.
func (o *origin) over(name string) catalog.Model {
	m := simModel(name, scaling(1, 1))
	m.Source, m.Files = o.source(), o.files()
	return m
}

// TestCutDownload cuts a download three times: it is gone on with, little is
// fetched twice, and what arrives is the file.
func TestCutDownload(t *testing.T) {
	t.Parallel()
	needLlamaServer(t)
	o := newOrigin(t, gguf(t, tinygguf.Options{MB: 50}))
	o.cuts = []int64{10 << 20, 15 << 20, 5 << 20}
	p := startServe(t)
	n := p.startNode("n1", o.reach())
	m := o.over("big")
	m.Profiles = []catalog.Profile{{Name: "cpu", Engine: catalog.EngineLlamaCPP, Context: 256}}
	p.add(m)
	p.untilReady("big", 1)
	sent, starts := o.seen()
	if len(starts) != 4 || sent > o.size+4<<20 {
		t.Errorf("%d bytes were sent for a file of %d, beginning at %v", sent, o.size, starts)
	}
	if r := p.client().chat(t, "big"); r.status != 200 {
		t.Errorf("the model that was fetched: %s", r)
	}
	if parts := filesNamed(t, n.dir, ".part"); len(parts) > 0 {
		t.Errorf("parts are left: %v", parts)
	}
	// A second replica fetches nothing.
	if _, err := p.admin.ScaleModel(t.Context(), "big", scaleTo(2)); err != nil {
		t.Fatal(err)
	}
	p.untilReady("big", 2)
	if again, _ := o.seen(); again != sent {
		t.Errorf("the second replica fetched %d bytes", again-sent)
	}
}

// TestFullDisk fetches onto a disk that is too small: the job fails and says so,
// the node stays, and once there is room it goes on by itself.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=64m"); err != nil {
		t.Skipf("a small disk cannot be made, which only root can: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, 40<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	o := newOrigin(t, gguf(t, tinygguf.Options{MB: 30}))
	p := startServe(t)
	n := p.startNode("n1", o.reach()+"weights: ["+disk+"]\n")
	p.add(simModel("other", scaling(1, 1)))
	p.untilReady("other", 1)
	// Of one model the size is known, so it is not placed; of the other it is
	// not, so the agent finds out.
	p.add(o.over("known"))
	big := o.over("big")
	big.Files[0].Bytes = 0
	p.add(big)
	until(t, "there is no node for the one", soon, func() (bool, any) {
		ex, err := p.admin.Explain(t.Context(), "known")
		return err == nil && !ex.Placed && strings.Contains(brief(ex.Rejections), "disk"), ex
	})
	until(t, "the other says that the disk is full", soon, func() (bool, any) {
		rs, m := brief(p.replicas("big")), modelOf(p, "big")
		return strings.Contains(rs+m, "disk"), rs + m
	})
	if got := p.untilNode("n1", "ready"); got.Replicas < 1 {
		t.Errorf("the node: %+v", got)
	}
	if r := p.client().chat(t, "other"); r.status != 200 {
		t.Errorf("another model on the node: %s", r)
	}
	pid := n.pid()
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	p.untilReady("big", 1)
	p.untilReady("known", 1)
	if n.ended() || n.pid() != pid {
		t.Error("the agent was started again")
	}
	if m, _ := p.model("big"); m.Parked {
		t.Errorf("a full disk parked the model: %+v", m)
	}
}

func modelOf(p *plane, name string) string {
	m, _ := p.model(name)
	return brief(m)
}

// TestKilledWhileFetching kills the agent and the control plane in the middle of
// a download: it goes on where it was.
func TestKilledWhileFetching(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, gguf(t, tinygguf.Options{MB: 20}))
	o.slow(4 << 20)
	p := startServe(t)
	n := p.startNode("n1", o.reach())
	p.add(o.over("slow"))
	for round := range 3 {
		before, _ := o.seen()
		until(t, "the download goes on", soon, func() (bool, any) {
			sent, starts := o.seen()
			return sent > before+2<<20, starts
		})
		if round == 1 {
			p.kill()
			p.start()
			continue
		}
		n.kill()
		n.start()
	}
	o.slow(0)
	p.untilReady("slow", 1)
	sent, starts := o.seen()
	if len(starts) != 3 || sent > o.size+8<<20 {
		t.Errorf("%d bytes were sent for a file of %d, beginning at %v", sent, o.size, starts)
	}
	throughout(t, "there is one engine", 3*time.Second, func() (bool, any) { return len(n.engines()) == 1, n.engines() })
}
