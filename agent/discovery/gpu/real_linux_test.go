//go:build cgo

package gpu

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/internal/tinygguf"
)

// onGPU skips where the real thing is not asked for: make test-gpu does that,
// where there is a card.
func onGPU(t *testing.T) *Child {
	t.Helper()
	if os.Getenv("LLMGW_TEST_GPU") == "" {
		t.Skip("this is for a machine with a GPU: run make test-gpu there")
	}
	return child(t, "", 0)
}

// smi is what nvidia-smi -q -x says, as far as it is compared.
type smi struct {
	Driver string `xml:"driver_version"`
	CUDA   string `xml:"cuda_version"`
	GPUs   []struct {
		ID     string `xml:"id,attr"`
		Name   string `xml:"product_name"`
		UUID   string `xml:"uuid"`
		Memory string `xml:"fb_memory_usage>total"`
		MIG    string `xml:"mig_mode>current_mig"`
		Parts  []struct {
			Index  int    `xml:"index"`
			Memory string `xml:"fb_memory_usage>total"`
		} `xml:"mig_devices>mig_device"`
	} `xml:"gpu"`
}

// lines says of cards what both sides know.
func (s *smi) lines() string {
	out := []string{s.Driver + " " + s.CUDA}
	for _, g := range s.GPUs {
		out = append(out, fmt.Sprintf("%s %s %s %s mig=%v", Address(g.ID), g.Name, g.UUID, g.Memory, g.MIG == "Enabled"))
		for _, p := range g.Parts {
			out = append(out, fmt.Sprintf("  %d %s", p.Index, p.Memory))
		}
	}
	return strings.Join(out, "\n")
}

func (s Snapshot) lines() string {
	out := []string{s.Driver + " " + s.CUDA}
	for _, c := range s.Cards {
		out = append(out, fmt.Sprintf("%s %s %s %d MiB mig=%v", c.PCI, c.Name, c.UUID, c.MemoryMB, c.MIG != nil && c.MIG.On))
		if c.MIG != nil {
			for _, p := range c.MIG.Instances {
				out = append(out, fmt.Sprintf("  %d %d MiB", p.Index, p.MemoryMB))
			}
		}
	}
	return strings.Join(out, "\n")
}

// The agent reads what nvidia-smi reads.
func TestRealDriverBesideNvidiaSMI(t *testing.T) {
	s, err := onGPU(t).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the snapshot:\n%s", text)
	out, err := exec.CommandContext(t.Context(), "nvidia-smi", "-q", "-x").Output()
	if err != nil {
		t.Skipf("there is no nvidia-smi to compare with: %v", err)
	}
	var other smi
	if err := xml.Unmarshal(out, &other); err != nil {
		t.Fatal(err)
	}
	if s.lines() != other.lines() {
		t.Errorf("the agent reads\n%s\nand nvidia-smi\n%s", s.lines(), other.lines())
	}
	devices, warnings := view(s.Cards...).Devices()
	t.Logf("the devices:\n%s\nwarnings: %q", briefs(devices), warnings)
	if len(devices) == 0 {
		t.Error("want devices of a machine with a card")
	}
}

// An engine of the machine's GPU build shows up as a process with memory.
func TestRealEngineOnACard(t *testing.T) {
	c := onGPU(t)
	path := os.Getenv("LLMGW_LLAMA_SERVER")
	if path == "" {
		t.Skip("no llama-server: LLMGW_LLAMA_SERVER names none")
	}
	list, err := exec.CommandContext(t.Context(), path, "--list-devices").CombinedOutput()
	if err != nil || !bytes.Contains(list, []byte("CUDA")) {
		t.Skipf("the llama-server at %s is no build for GPUs: %s", path, list)
	}
	model := filepath.Join(t.TempDir(), "m.gguf")
	if err := tinygguf.Write(model, tinygguf.Options{}); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	l.Close()
	engine := exec.CommandContext(t.Context(), path, "-m", model, "-ngl", "99", "--host", "127.0.0.1", "--port", port, "-c", "512")
	var said bounded
	said.most = mostSaid
	engine.Stdout, engine.Stderr = &said, &said
	if err := engine.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { engine.Process.Kill(); engine.Wait() }()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	answer := generate(ctx, "http://"+address)
	if answer == "" {
		t.Fatalf("the engine gives no token:\n%s", said.String())
	}
	s, err := c.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	holds := func(x Card) bool {
		return slices.ContainsFunc(x.Process, func(p Process) bool { return p.PID == engine.Process.Pid && p.UsedMB > 0 })
	}
	if !slices.ContainsFunc(s.Cards, holds) {
		t.Errorf("want the engine %d among the processes of a card, got %+v", engine.Process.Pid, s.Cards)
	}
}

// generate asks until the engine answers or the context ends.
func generate(ctx context.Context, url string) string {
	for ctx.Err() == nil {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/completion", strings.NewReader(`{"prompt":"a","n_predict":1}`))
		if err != nil {
			return ""
		}
		r.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			continue
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return string(b)
		}
	}
	return ""
}
