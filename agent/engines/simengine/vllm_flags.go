package simengine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// vllmVersion is a version of vLLM: major, minor, patch.
type vllmVersion [3]int

func parseVLLMVersion(s string) (v vllmVersion) {
	for i, part := range strings.SplitN(s, ".", 3) {
		v[i], _ = strconv.Atoi(part) // what is no number is zero, the oldest there is
	}
	return v
}

// String is the version as vLLM prints it.
func (v vllmVersion) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

func (v vllmVersion) before(o vllmVersion) bool { return slices.Compare(v[:], o[:]) < 0 }

// vllmFlag is one flag of vLLM.
type vllmFlag struct {
	kind  byte // 'b' has no value, 'v' has one, 'l' a list of them
	since vllmVersion
	own   bool // it means something to the simulated engine as well
}

// vllmTable are the flags that it takes: those that the agent's driver sets, some
// that people set, and which version brought those that are new. Its own failures
// are told it by flags that vLLM does not have.
func vllmTable() map[string]vllmFlag {
	t := map[string]vllmFlag{
		"served-model-name": {'l', vllmVersion{}, true}, "host": {'v', vllmVersion{}, true}, "port": {'v', vllmVersion{}, true},
		"max-model-len": {'v', vllmVersion{}, true}, "max-num-seqs": {'v', vllmVersion{}, true}, "block-size": {'v', vllmVersion{}, true},
		"lora-modules": {kind: 'l'},

		"kv-cache-memory-bytes": {kind: 'v', since: vllmVersion{0, 10, 2}},
		"nnodes":                {kind: 'v', since: vllmVersion{0, 12}}, "node-rank": {kind: 'v', since: vllmVersion{0, 12}},
		"master-addr": {kind: 'v', since: vllmVersion{0, 12}}, "master-port": {kind: 'v', since: vllmVersion{0, 12}},
		"disable-access-log-for-endpoints": {kind: 'v', since: vllmVersion{0, 16}},
		"shutdown-timeout":                 {kind: 'v', since: vllmVersion{0, 18}},
	}
	for _, name := range strings.Fields(`tensor-parallel-size pipeline-parallel-size data-parallel-size data-parallel-address
		data-parallel-rpc-port distributed-executor-backend gpu-memory-utilization kv-cache-dtype dtype quantization load-format
		max-loras max-cpu-loras max-lora-rank tool-call-parser reasoning-parser chat-template api-server-count`) {
		t[name] = vllmFlag{kind: 'v'}
	}
	for _, name := range strings.Fields(`headless enable-lora enable-prompt-tokens-details enable-auto-tool-choice enforce-eager
		enable-prefix-caching no-enable-prefix-caching disable-uvicorn-access-log enable-expert-parallel`) {
		t[name] = vllmFlag{kind: 'b'}
	}
	for _, name := range strings.Fields(`startup-duration time-to-first-token prefill-time-per-token inter-token-latency
		max-waiting-queue-length say output-tokens failure-injection-rate failure-types fail-after die-exit-code`) {
		t[name] = vllmFlag{kind: 'v', own: true}
	}
	t["start-failure"] = vllmFlag{kind: 'v'}
	return t
}

// vllmFlags are the flags that were given.
type vllmFlags struct {
	values   map[string]string
	adapters []string
	// own are those that the simulated engine reads, as it reads them.
	own []string
}

func (f vllmFlags) has(name string) bool { _, ok := f.values[name]; return ok }

// number is a flag's value. Zero: it was not given, or is none.
func (f vllmFlags) number(name string) int {
	n, _ := strconv.Atoi(f.values[name])
	return n
}

// parseVLLM reads what follows "serve".
func parseVLLM(v vllmVersion, args []string) (vllmFlags, error) {
	f := vllmFlags{values: map[string]string{}}
	table := vllmTable()
	for i := 0; i < len(args); i++ {
		if !strings.HasPrefix(args[i], "--") {
			f.own = append(f.own, "--model", args[i])
			continue
		}
		name, value, glued := strings.Cut(strings.TrimPrefix(args[i], "--"), "=")
		name = strings.ReplaceAll(name, "_", "-")
		flag, ok := table[name]
		if !ok || v.before(flag.since) {
			return f, fmt.Errorf("unrecognized arguments: %s", args[i])
		}
		list := []string{value}
		if !glued && flag.kind != 'b' {
			list = nil
			for i+1 < len(args) && !strings.HasPrefix(args[i+1], "--") && (flag.kind == 'l' || len(list) == 0) {
				i++
				list = append(list, args[i])
			}
			if len(list) == 0 {
				return f, fmt.Errorf("argument --%s: expected one argument", name)
			}
		}
		f.values[name] = strings.Join(list, ",")
		if name == "lora-modules" {
			for _, pair := range list {
				adapter, _, _ := strings.Cut(pair, "=")
				f.adapters = append(f.adapters, adapter)
			}
		}
		if flag.own {
			f.own = append(f.own, "--"+name+"="+f.values[name])
		}
	}
	return f, nil
}

// CheckVLLM reports how a version of vLLM, as it is played here, would refuse what
// follows "vllm" on a command line. Nil: it takes it.
func CheckVLLM(version string, args []string) error {
	if len(args) == 0 || args[0] != "serve" {
		return fmt.Errorf("simengine: %q is no command of vLLM that is played here; it must begin with serve", args)
	}
	_, err := parseVLLM(parseVLLMVersion(version), args[1:])
	return err
}
