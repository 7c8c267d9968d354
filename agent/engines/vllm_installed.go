package engines

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"llmgw.io/llmgw/inventory"
)

// vllmProgram is one installation: a script "vllm" in the bin folder of a Python
// environment. To run it for its version would load all of it, for many seconds
// and on some drivers for ever, so that what its environment says is read instead.
type vllmProgram struct {
	program program

	mu          sync.Mutex
	looked      bool
	build, path string
}

// of is the program if it is of a build, as far as somebody has looked. Empty: it
// is not.
func (p *vllmProgram) of(build string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !p.looked && filepath.IsAbs(p.program.given):
		return p.program.given
	case p.build == build:
		return p.path
	}
	return ""
}

// installed looks. ok is false when it is not there, or does not say what it is.
func (p *vllmProgram) installed(ctx context.Context) (e inventory.Engine, ok bool) {
	path := p.program.find()
	var version, build string
	if path != "" {
		version, build = environmentOf(path)
	}
	if path != "" && version == "" {
		// No environment around it: a program of somebody else's making.
		said, runs := p.program.ask(ctx, "--version")
		if !runs {
			path = ""
		}
		version = lastWord(said["--version"])
		build = localOf(version)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.path, p.build, p.looked = path, build, true
	return inventory.Engine{Name: "vllm", Build: build, Version: version}, path != ""
}

// lastWord is the last word of what a program printed; notices come before it.
func lastWord(s string) string {
	words := strings.Fields(s)
	if len(words) == 0 {
		return ""
	}
	return clip(words[len(words)-1])
}

// environmentOf is the version of vLLM in the Python environment around a
// program, and the build: what its version, or that of its PyTorch, calls it
// behind a plus ("cu129", "cpu"), or else what CUDA it was installed with. Empty:
// there is no such environment.
func environmentOf(path string) (version, build string) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	sites, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(path)), "lib", "python3*", "site-packages"))
	if err != nil || len(sites) == 0 {
		return "", ""
	}
	packages := map[string]string{}
	for _, site := range sites {
		entries, err := os.ReadDir(site)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if name, v, ok := distribution(e.Name()); ok {
				packages[name] = v
			}
		}
	}
	version = packages["vllm"]
	if version == "" {
		return "", ""
	}
	for _, b := range [...]string{localOf(version), localOf(packages["torch"]), cudaOf(packages)} {
		if b != "" {
			return version, b
		}
	}
	return version, ""
}

// distribution reads the name of a folder that Python keeps for each package:
// "torch-2.11.0+cu129.dist-info".
func distribution(folder string) (name, version string, ok bool) {
	s, ok := strings.CutSuffix(folder, ".dist-info")
	if !ok {
		return "", "", false
	}
	name, version, ok = strings.Cut(s, "-")
	if !ok || len(version) > 100 || strings.ContainsAny(version, " -\t\n") {
		return "", "", false
	}
	return strings.ToLower(strings.ReplaceAll(name, ".", "_")), version, true
}

var buildWord = regexp.MustCompile(`^(cu\d{2,4}|cpu|rocm[\d.]+|xpu)$`)

// localOf is the build in a version: "0.20.0+cu129", "2.11.0+cpu".
func localOf(version string) string {
	_, local, _ := strings.Cut(version, "+")
	for part := range strings.SplitSeq(local, ".") {
		if buildWord.MatchString(part) {
			return part
		}
	}
	return ""
}

// cudaOf is the CUDA that was installed beside PyTorch, as its builds are called.
func cudaOf(packages map[string]string) string {
	for _, name := range [...]string{"nvidia_cuda_runtime", "nvidia_cuda_runtime_cu13", "nvidia_cuda_runtime_cu12"} {
		if v, ok := versionOf(packages[name]); ok {
			return "cu" + strconv.Itoa(v[0]) + strconv.Itoa(v[1])
		}
	}
	return ""
}
