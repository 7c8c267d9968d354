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
	_ agent.Engine   = (*engines.VLLM)(nil)
	_ agent.Progress = (*engines.VLLM)(nil)
	_ agent.Adapters = (*engines.VLLM)(nil)
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

// pythonEnvironment makes a folder as an installer of Python leaves it.
func pythonEnvironment(t *testing.T, packages ...string) (program string) {
	t.Helper()
	dir := t.TempDir()
	for _, p := range packages {
		if err := os.MkdirAll(filepath.Join(dir, "lib", "python3.12", "site-packages", p+".dist-info"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	program = filepath.Join(dir, "bin", "vllm")
	if err := os.MkdirAll(filepath.Dir(program), 0o700); err != nil {
		t.Fatal(err)
	}
	script(t, program, "echo it was started >&2; exit 1")
	return program
}

// A vLLM is asked by its folder: to run it for its version takes many seconds, and
// on a driver that hangs for ever.
func TestVLLMIsKnownByItsEnvironment(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		packages []string
		want     []inventory.Engine
	}{
		{"a wheel that says its build", []string{"vllm-0.24.1+cu129", "torch-2.11.0"}, []inventory.Engine{{Name: "vllm", Build: "cu129", Version: "0.24.1+cu129"}}},
		{"PyTorch says it", []string{"vllm-0.20.0", "torch-2.11.0+cu130"}, []inventory.Engine{{Name: "vllm", Build: "cu130", Version: "0.20.0"}}},
		{"for processors", []string{"vllm-0.20.0+cpu"}, []inventory.Engine{{Name: "vllm", Build: "cpu", Version: "0.20.0+cpu"}}},
		{"CUDA 12 beside it", []string{"vllm-0.18.0", "torch-2.10.0", "nvidia_cuda_runtime_cu12-12.9.79"}, []inventory.Engine{{Name: "vllm", Build: "cu129", Version: "0.18.0"}}},
		{"CUDA 13 beside it", []string{"vllm-0.18.0", "nvidia_cuda_runtime-13.0.48"}, []inventory.Engine{{Name: "vllm", Build: "cu130", Version: "0.18.0"}}},
		{"nothing says it", []string{"vllm-0.18.0", "torch-2.10.0"}, []inventory.Engine{{Name: "vllm", Version: "0.18.0"}}},
		{"a commit is no build", []string{"vllm-0.18.1.dev3+g0a1b2c3.cu129"}, []inventory.Engine{{Name: "vllm", Build: "cu129", Version: "0.18.1.dev3+g0a1b2c3.cu129"}}},
		{"another program of that name", []string{"torch-2.10.0"}, nil},
		{"a folder with a strange name", []string{"vllm-", "vllm-0 .1", "vllm"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := engines.New(engines.Config{VLLM: []string{pythonEnvironment(t, c.packages...)}}).VLLM
			if d := cmp.Diff(c.want, v.Installed(t.Context())); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestBuildsOfVLLMStandBesideEachOther(t *testing.T) {
	t.Parallel()
	own := filepath.Join(t.TempDir(), "vllm")
	script(t, own, `echo "a notice"; echo "0.30.0"`)
	old, newer := pythonEnvironment(t, "vllm-0.20.0+cu129"), pythonEnvironment(t, "vllm-0.24.0+cu130")
	v := engines.New(engines.Config{VLLM: []string{old, newer, pythonEnvironment(t, "vllm-0.25.0+cu130"), own, "/nowhere/vllm"}}).VLLM
	want := []inventory.Engine{
		{Name: "vllm", Build: "cu129", Version: "0.20.0+cu129"}, {Name: "vllm", Build: "cu130", Version: "0.24.0+cu130"}, {Name: "vllm", Version: "0.30.0"},
	}
	got := v.Installed(t.Context())
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
	for i, path := range []string{old, newer, own} {
		at := vllmLaunch("", 1)
		at.Build = got[i]
		cmd, err := v.Command(vllmShard(1), at)
		if err != nil || cmd.Path != path {
			t.Errorf("build %q: want %s started, got %s, %v", got[i].Build, path, cmd.Path, err)
		}
	}
	at := vllmLaunch("", 1)
	at.Build.Build = "rocm6.3"
	if _, err := v.Command(vllmShard(1), at); err == nil {
		t.Error("a build that is not there was started")
	}
}
