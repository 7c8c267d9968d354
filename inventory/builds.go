package inventory

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Choices of a build that name none.
const (
	// BuildAuto asks for the best build that the node can run.
	BuildAuto = "auto"
	// BuildNone asks for none: what is installed goes on being used.
	BuildNone = "none"
)

// ErrBuild says that an engine, or a build of it, is none that can be installed.
var ErrBuild = errors.New("inventory: no such build")

// KnownBuilds are the engines that can be installed on a node, and the builds that
// each may have: by the CUDA it was made for ("cu130"), or for processors ("cpu").
func KnownBuilds() map[string][]string {
	return map[string][]string{
		"llamacpp": {"cu130", "cu129", "cpu"},
		"vllm":     {"cu130", "cu129", "cpu"},
	}
}

// CheckBuild tells whether a build may be chosen for an engine. Its error matches
// ErrBuild and lists what there is.
func CheckBuild(engine, build string) error {
	known, ok := KnownBuilds()[engine]
	if !ok {
		return fmt.Errorf("%w: engine %q cannot be installed; it is one of %s", ErrBuild, engine, strings.Join(slices.Sorted(maps.Keys(KnownBuilds())), ", "))
	}
	if build != BuildAuto && build != BuildNone && !slices.Contains(known, build) {
		return fmt.Errorf("%w: %s has no build %q; choose auto, none, or one of %s", ErrBuild, engine, build, strings.Join(known, ", "))
	}
	return nil
}

// WantedBuilds are the choices for the node by engine: those that people made,
// and auto for vLLM on a node with devices where nobody chose. Nil: none.
func (n *Node) WantedBuilds() map[string]string {
	wanted := n.Settings.EngineBuilds
	if len(n.Facts.Devices) == 0 || wanted["vllm"] != "" {
		return wanted
	}
	out := map[string]string{"vllm": BuildAuto}
	maps.Copy(out, wanted)
	return out
}

// WantsBuilds reports whether WantedBuilds would give these, without making them.
func (n *Node) WantsBuilds(these map[string]string) bool {
	wanted := n.Settings.EngineBuilds
	vllm, said := wanted["vllm"]
	switch {
	case len(n.Facts.Devices) == 0 || vllm != "":
		return maps.Equal(wanted, these)
	case said || len(these) != len(wanted)+1 || these["vllm"] != BuildAuto:
		return maps.Equal(n.WantedBuilds(), these)
	}
	for engine, build := range wanted {
		if is, ok := these[engine]; !ok || is != build {
			return false
		}
	}
	return true
}

// ChosenBuild is the build by name that people chose for an engine on the node.
// Empty: they did not, or left it to the node.
func (n *Node) ChosenBuild(engine string) string {
	if b := n.Settings.EngineBuilds[engine]; b != BuildAuto && b != BuildNone {
		return b
	}
	return ""
}
