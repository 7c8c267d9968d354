package discovery

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/klauspost/cpuid/v2"

	"llmgw.io/llmgw/inventory"
)

// sets are the instruction sets that builds of engines ask for, by the kernel's
// names, and the processor's own word for each where it can be asked.
var sets = []struct {
	name string
	id   cpuid.FeatureID
}{
	{"sse4_2", cpuid.SSE42},
	{"avx", cpuid.AVX},
	{"avx2", cpuid.AVX2},
	{"fma", cpuid.FMA3},
	{"f16c", cpuid.F16C},
	{"bmi2", cpuid.BMI2},
	{"avx_vnni", cpuid.AVXVNNI},
	{"avx512f", cpuid.AVX512F},
	{"avx512bw", cpuid.AVX512BW},
	{"avx512dq", cpuid.AVX512DQ},
	{"avx512vl", cpuid.AVX512VL},
	{"avx512vbmi", cpuid.AVX512VBMI},
	{"avx512_vnni", cpuid.AVX512VNNI},
	{"avx512_bf16", cpuid.AVX512BF16},
	{"avx512_fp16", cpuid.AVX512FP16},
	{"amx_tile", cpuid.AMXTILE},
	{"amx_int8", cpuid.AMXINT8},
	{"amx_bf16", cpuid.AMXBF16},
	{"amx_fp16", cpuid.AMXFP16},
	{"asimd", cpuid.ASIMD},
	{"asimdhp", cpuid.ASIMDHP},
	{"asimddp", cpuid.ASIMDDP},
	{"sve", cpuid.SVE},
	// Of these only the kernel tells.
	{"i8mm", cpuid.UNKNOWN},
	{"bf16", cpuid.UNKNOWN},
	{"sve2", cpuid.UNKNOWN},
	{"svei8mm", cpuid.UNKNOWN},
	{"svebf16", cpuid.UNKNOWN},
	{"sme", cpuid.UNKNOWN},
}

// flags are what the processor can do: what the kernel lets programs use, or what
// the processor itself says where the kernel does not say.
func (p *Prober) flags(_ context.Context, f *inventory.Facts) error {
	has, err := p.cpuinfo()
	if err != nil {
		if has = p.asked(); len(has) == 0 {
			return err
		}
	}
	f.CPUFlags = []string{}
	for _, s := range sets {
		if slices.Contains(has, s.name) {
			f.CPUFlags = append(f.CPUFlags, s.name)
		}
	}
	return nil
}

// cpuinfo are all flags that the kernel gives the first processor.
func (p *Prober) cpuinfo() ([]string, error) {
	text, err := read(p.proc("cpuinfo"))
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"flags", "Features"} { // amd64's and arm64's word
		if list, ok := keyed(text, key, ":"); ok {
			return strings.Fields(list), nil
		}
	}
	return nil, errors.New("cpuinfo has no flags")
}

// askCPU are the sets that the processor says it has.
func askCPU() []string {
	var has []string
	for _, s := range sets {
		if s.id != cpuid.UNKNOWN && cpuid.CPU.Supports(s.id) {
			has = append(has, s.name)
		}
	}
	return has
}
