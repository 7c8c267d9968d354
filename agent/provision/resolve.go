package provision

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"llmgw.io/llmgw/inventory"
)

// Builds that Resolve knows how to choose between. Which of them there are is
// the manifest's to say.
const (
	buildCU130 = "cu130"
	buildCU129 = "cu129"
	buildCPU   = "cpu"
)

// need is what an engine's CUDA builds ask of every card.
//
// CUDA 13 dropped what is older than compute capability 7.5 (CUDA 13.0 release
// notes); vLLM's wheels ask for 7.5 in their CUDA 12 builds too, llama.cpp's for
// 5.0.
type need struct{ cu130, cu129 version }

var needs = map[string]need{
	"vllm":     {cu130: version{7, 5}, cu129: version{7, 5}},
	"llamacpp": {cu130: version{7, 5}, cu129: version{5, 0}},
}

// Resolve lists the builds of an engine that the node can run, best first, for a
// choice of Auto, None or a build's name. Empty: none, and why says what stands in
// the way and what would mend it. A build that was chosen by name is what is
// tried, whatever the node looks like: people know more than a table.
func Resolve(engine, choice string, f *inventory.Facts) (builds []string, why string) {
	switch err := inventory.CheckBuild(engine, choice); {
	case err != nil:
		return nil, strings.TrimPrefix(err.Error(), inventory.ErrBuild.Error()+": ")
	case choice == inventory.BuildNone:
		return nil, "no build is wanted here"
	case choice != inventory.BuildAuto:
		return []string{choice}, ""
	case len(f.Devices) == 0:
		return processorBuilds(engine, f)
	}
	builds, why = cardBuilds(engine, f)
	if engine == "llamacpp" && len(builds) > 0 {
		builds = append(builds, buildCPU)
	}
	return builds, why
}

// processorBuilds are for a node without devices.
func processorBuilds(engine string, f *inventory.Facts) ([]string, string) {
	if engine == "vllm" {
		return nil, "vllm is for GPUs and this node has none that the agent reads; choose the build cpu to have it all the same"
	}
	if f.Arch == "amd64" && f.CPUFlags != nil && !slices.Contains(f.CPUFlags, "avx2") {
		return nil, "the builds for processors need AVX2, which this one has not; choose cpu to try it all the same"
	}
	return []string{buildCPU}, ""
}

// cardBuilds are for the node's worst card: one build serves them all.
func cardBuilds(engine string, f *inventory.Facts) ([]string, string) {
	cuda, ok := parseVersion(f.CUDA)
	if !ok {
		return nil, "the driver does not say which CUDA it serves, so no build can be chosen; look at the node's warnings, or choose a build"
	}
	worst, best, name, ok := capabilities(f.Devices)
	if !ok {
		return nil, "a device does not say its compute capability, so no build can be chosen; look at the node's warnings, or choose a build"
	}
	n := needs[engine]
	switch {
	case worst.less(n.cu129):
		return nil, fmt.Sprintf("%s has compute capability %s, and builds of %s ask for %s; use another engine there, or take the card out of the node", name, worst, engine, n.cu129)
	case cuda.less(version{12, 0}):
		return nil, fmt.Sprintf("the driver serves CUDA %s, and builds ask for 12.0; install driver 580 or newer", cuda)
	case !best.less(version{10, 0}) && cuda.less(version{12, 8}):
		return nil, fmt.Sprintf("a device of compute capability %s needs CUDA 12.8, and the driver serves %s; install driver 580 or newer", best, cuda)
	case !worst.less(n.cu130) && !cuda.less(version{13, 0}):
		return []string{buildCU130, buildCU129}, ""
	}
	return []string{buildCU129}, ""
}

// capabilities are the worst and the best of the devices, and the worst one's
// name. False: one does not say.
func capabilities(devices []inventory.Device) (worst, best version, name string, ok bool) {
	for i, d := range devices {
		v, ok := parseVersion(d.ComputeCapability)
		if !ok {
			return version{}, version{}, "", false
		}
		if i == 0 || v.less(worst) {
			worst, name = v, string(d.Class)
			if d.Name != "" {
				name = d.Name
			}
		}
		if i == 0 || best.less(v) {
			best = v
		}
	}
	return worst, best, name, true
}

// version is of CUDA, or a compute capability.
type version struct{ major, minor int }

func (v version) less(w version) bool {
	return v.major < w.major || v.major == w.major && v.minor < w.minor
}

// String is how people write it.
func (v version) String() string { return fmt.Sprintf("%d.%d", v.major, v.minor) }

func parseVersion(s string) (version, bool) {
	major, minor, ok := strings.Cut(s, ".")
	a, err := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	return version{a, b}, ok && err == nil && err2 == nil && a >= 0 && b >= 0
}
