package engines_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/agent"
	"llmgw.io/llmgw/agent/engines"
	"llmgw.io/llmgw/inventory"
)

var (
	_ agent.Engine   = (*engines.LlamaCPP)(nil)
	_ agent.Progress = (*engines.LlamaCPP)(nil)
	_ agent.Engine   = (*engines.Sim)(nil)
	_ agent.Progress = (*engines.Sim)(nil)
)

// script writes a program that says what the lines do.
func script(t *testing.T, path, lines string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+lines+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestInstalledListsWhatTheProgramSays(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "llama-server")
	set := engines.New(engines.Config{LlamaServer: path})
	if got := set.Installed(t.Context()); got == nil || len(got) != 0 {
		t.Errorf("with nothing installed: want an empty list, got %#v", got)
	}
	script(t, path, `case $1 in
--version) echo "version: 1.2.3 (build 7, commit abc)"; echo "built with a compiler";;
--list-devices) echo "Available devices:"; echo "  CUDA0: A Card (81559 MiB, 80000 MiB free)"; echo "  CUDA1: A Card (81559 MiB, 80000 MiB free)"; echo "  Vulkan0: A Card (81559 MiB, 80000 MiB free)";;
esac`)
	want := []inventory.Engine{
		{Name: "llamacpp", Build: "cuda", Version: "1.2.3 (build 7, commit abc)"},
		{Name: "llamacpp", Build: "vulkan", Version: "1.2.3 (build 7, commit abc)"},
		{Name: "llamacpp", Build: "cpu", Version: "1.2.3 (build 7, commit abc)"},
	}
	if d := cmp.Diff(want, set.Installed(t.Context())); d != "" {
		t.Errorf("once it is there (-want +got):\n%s", d)
	}
	script(t, path, `echo "version: 1.2.10"; [ $1 = --version ]`)
	want = []inventory.Engine{{Name: "llamacpp", Build: "cpu", Version: "1.2.10"}}
	if d := cmp.Diff(want, set.Installed(t.Context())); d != "" {
		t.Errorf("after an upgrade to one that lists no devices (-want +got):\n%s", d)
	}
	script(t, path, `echo "a library is missing"; exit 127`)
	if got := set.Installed(t.Context()); len(got) != 0 {
		t.Errorf("one that does not start counts as not installed, got %v", got)
	}
}

func TestInstalledAsksOnceAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, count := filepath.Join(dir, "llama-server"), filepath.Join(dir, "count")
	script(t, path, "echo x >>"+count+"; echo version: 1")
	set := engines.New(engines.Config{LlamaServer: path})
	for range 3 {
		if got := set.LlamaCPP.Installed(t.Context()); len(got) != 1 {
			t.Fatalf("want one build, got %v", got)
		}
	}
	b, err := os.ReadFile(count)
	if err != nil {
		t.Fatal(err)
	}
	if string(b) != "x\nx\n" {
		t.Errorf("want it started for its version and its devices only, got %q", b)
	}
}

func TestInstalledKeepsTheAgentsEnvironmentToItself(t *testing.T) {
	t.Setenv("LLMGW_TEST_SECRET", "sesame")
	path := filepath.Join(t.TempDir(), "llama-server")
	script(t, path, `echo "version: ${LLMGW_TEST_SECRET:-clean}"`)
	got := engines.New(engines.Config{LlamaServer: path}).LlamaCPP.Installed(t.Context())
	if len(got) != 1 || got[0].Version != "clean" {
		t.Errorf("want the program not to see our environment, got %v", got)
	}
}

func TestTheSimulatedEngineIsInstalledWhereItsProgramIs(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	got := engines.New(engines.Config{SimEngine: self, SimVersion: "1.0"}).Sim.Installed(t.Context())
	if d := cmp.Diff([]inventory.Engine{{Name: "sim", Version: "1.0"}}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, path := range []string{"", filepath.Join(t.TempDir(), "gone")} {
		if got := engines.New(engines.Config{SimEngine: path}).Sim.Installed(t.Context()); len(got) != 0 {
			t.Errorf("program %q: want none, got %v", path, got)
		}
	}
}
