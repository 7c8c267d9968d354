package catalog

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"llmgw.io/llmgw/inventory"
)

// Bounds beyond which no fleet could hold a profile.
const (
	// MaxDevices is of one node.
	MaxDevices = 16
	// MaxShards is of one replica.
	MaxShards = 1024
	// MaxHostGB, MaxDiskGB and MaxHostCores are of one node.
	MaxHostGB    = 1 << 16
	MaxDiskGB    = 1 << 20
	MaxHostCores = 1 << 12
	// MaxDeviceGB is of one device.
	MaxDeviceGB = 1 << 12
)

var engines = []Engine{EngineLlamaCPP, EngineVLLM, EngineSGLang, EngineSim, EngineStatic}

func checkProfileNames(c *complaints, ps []Profile) {
	seen := map[string]bool{}
	for i := range ps {
		name := ps[i].Name
		field := at("profiles", i) + ".name"
		switch {
		case name == "":
			c.add(field, "a profile needs a name, such as \"cpu\" or \"tp8\"")
		case !plainWord(name):
			c.add(field, "%q cannot name a profile; use at most 64 letters, digits and . _ - +", name)
		case seen[name]:
			c.add(field, "%q is the name of two profiles", name)
		}
		seen[name] = true
	}
}

func checkProfile(c *complaints, field string, p *Profile) {
	if !slices.Contains(engines, p.Engine) {
		c.add(field+".engine", "%q is no engine; use llamacpp, vllm, sglang, sim or static", p.Engine)
	}
	if p.Engine == EngineStatic {
		checkStatic(c, field, p)
		return
	}
	if len(p.Endpoints) > 0 {
		c.add(field+".endpoints", "only engine static has endpoints; llmgw starts the engines of the others itself")
	}
	checkGPU(c, field+".gpu", p.GPU)
	checkShape(c, field, p)
	checkHost(c, field, p)
	checkArgs(c, field, p)
	checkEnv(c, field, p)
	checkWhere(c, field, p)
	c.negative(field+".context", int64(p.Context))
	c.negative(field+".slots", int64(p.Slots))
	c.negative(field+".start_timeout", int64(p.StartTimeout))
	c.negative(field+".drain_timeout", int64(p.DrainTimeout))
}

// checkStatic checks a profile of replicas that others run: it reserves nothing.
func checkStatic(c *complaints, field string, p *Profile) {
	if len(p.Endpoints) == 0 {
		c.add(field+".endpoints", "a static profile needs at least one endpoint, such as {url: http://10.0.0.7:8000}")
	}
	seen := map[string]bool{}
	for i, e := range p.Endpoints {
		f := at(field+".endpoints", i) + ".url"
		if why := webProblem(e.URL); why != "" {
			c.add(f, "%s", why)
		} else if seen[e.URL] {
			c.add(f, "%q is named twice", e.URL)
		}
		seen[e.URL] = true
	}
	c2 := *p
	c2.Name, c2.Engine, c2.Endpoints, c2.Slots, c2.Context = "", "", nil, 0, 0
	if !isZeroProfile(&c2) {
		c.add(field, "a static profile is run by others: leave out everything but name, engine, endpoints, context and slots")
	}
	c.negative(field+".context", int64(p.Context))
	c.negative(field+".slots", int64(p.Slots))
}

func isZeroProfile(p *Profile) bool {
	return p.Build == "" && len(p.Args) == 0 && len(p.Env) == 0 && p.GPU == nil && p.Shards == 0 &&
		p.TensorParallel == 0 && p.PipelineParallel == 0 && p.DataParallel == 0 && p.Fabric == "" &&
		!p.NVLinkDomain && p.MemoryGB == 0 && p.CPUCores == 0 && p.DiskGB == 0 && p.StartTimeout == 0 &&
		p.DrainTimeout == 0 && p.Pool == "" && len(p.Labels) == 0 && p.Spread == nil
}

func checkGPU(c *complaints, field string, g *GPU) {
	if g == nil {
		return
	}
	switch {
	case g.Count < 1:
		c.add(field+".count", "%d devices are none; leave gpu out for a profile that runs on CPUs", g.Count)
	case g.Count > MaxDevices:
		c.add(field+".count", "%d devices are more than the %d that a node may have; use shards", g.Count, MaxDevices)
	}
	if g.Class != "" && !plainWord(string(g.Class)) {
		c.add(field+".class", "%q is no device class; use one such as H100-80 or 3g.40gb", g.Class)
	}
	if MIGClass(g.Class) && g.Count > 1 {
		c.add(field+".count", "instances of a partitioned card (%s) cannot be joined; count must be 1", g.Class)
	}
	c.negative(field+".memory_gb", int64(g.MemoryGB))
	if g.MemoryGB > MaxDeviceGB {
		c.add(field+".memory_gb", "no device has %d GiB of memory; it is a number of GiB, not of MiB", g.MemoryGB)
	}
	if g.Shared && g.Count > 1 {
		c.add(field+".count", "a shared profile uses a part of one device; count must be 1")
	}
	if g.Shared && g.MemoryGB == 0 {
		c.add(field+".memory_gb", "a shared profile must say how much device memory it reserves")
	}
	if g.ComputeCapability != "" && !isCapability(g.ComputeCapability) {
		c.add(field+".compute_capability", "%q is no compute capability; write it as \"8.0\"", g.ComputeCapability)
	}
}

// MIGClass reports whether a class is that of an instance of a partitioned
// card, such as "3g.40gb".
func MIGClass(c inventory.Class) bool {
	slices, memory, ok := strings.Cut(string(c), "g.")
	if !ok {
		return false
	}
	n, unit, _ := strings.Cut(memory, "gb")
	return digits(slices) && digits(n) && (unit == "" || unit[0] == '.' || unit[0] == '+')
}

func isCapability(s string) bool {
	major, minor, ok := strings.Cut(s, ".")
	return ok && digits(major) && digits(minor)
}

func digits(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

// checkShape checks that shards, devices and parallel sizes multiply out.
func checkShape(c *complaints, field string, p *Profile) {
	c.negative(field+".shards", int64(p.Shards))
	c.negative(field+".tensor_parallel", int64(p.TensorParallel))
	c.negative(field+".pipeline_parallel", int64(p.PipelineParallel))
	c.negative(field+".data_parallel", int64(p.DataParallel))
	if p.Shards > MaxShards {
		c.add(field+".shards", "%d shards are more than the %d that a replica may have", p.Shards, MaxShards)
	}
	tp, pp, dp := p.Parallel()
	if p.GPU == nil {
		if tp*pp*dp > 1 || p.ShardCount() > 1 {
			c.add(field, "a profile without gpu is one process on one node; leave out shards and the parallel sizes")
		}
	} else if p.GPU.Count >= 1 && tp > 0 && pp > 0 && dp > 0 {
		have, want := p.GPU.Count*p.ShardCount(), saturated(tp, pp, dp)
		if have != want {
			c.add(field, "%d devices x %d shards are %d, but tensor %d x pipeline %d x data %d parallel need %d", p.GPU.Count,
				p.ShardCount(), have, tp, pp, dp, want)
		}
		if p.ShardCount() > 1 && (p.GPU.Shared || MIGClass(p.GPU.Class)) {
			c.add(field+".shards", "shared devices and instances of partitioned cards cannot form groups; shards must be 1")
		}
	}
	if p.ShardCount() == 1 && (p.Fabric != "" || p.NVLinkDomain) {
		c.add(field, "fabric and nvlink_domain are what several shards share; this profile has one")
	}
	if p.Fabric != "" && !plainWord(p.Fabric) {
		c.add(field+".fabric", "%q is no fabric; use a declared name, or any", p.Fabric)
	}
}

// Parallel returns the parallel sizes with their defaults.
func (p *Profile) Parallel() (tensor, pipeline, data int) {
	tensor, pipeline, data = p.TensorParallel, p.PipelineParallel, p.DataParallel
	if tensor == 0 {
		tensor = 1
		if p.GPU != nil {
			tensor = max(1, p.GPU.Count)
		}
	}
	if pipeline == 0 {
		pipeline = 1
	}
	if data == 0 {
		data = 1
	}
	return tensor, pipeline, data
}

// saturated multiplies without overflow.
func saturated(ns ...int) int {
	product := 1
	for _, n := range ns {
		if n > 0 && product > math.MaxInt32/n {
			return math.MaxInt32
		}
		product *= n
	}
	return product
}

func checkHost(c *complaints, field string, p *Profile) {
	c.negative(field+".min_memory_gb", int64(p.MemoryGB))
	c.negative(field+".cpu_cores", int64(p.CPUCores))
	c.negative(field+".disk_gb", int64(p.DiskGB))
	if p.MemoryGB > MaxHostGB {
		c.add(field+".min_memory_gb", "no node has %d GiB of memory; it is a number of GiB, not of MiB", p.MemoryGB)
	}
	if p.DiskGB > MaxDiskGB {
		c.add(field+".disk_gb", "no node has %d GiB of disk; it is a number of GiB, not of MiB", p.DiskGB)
	}
	if p.CPUCores > MaxHostCores {
		c.add(field+".cpu_cores", "no node has %d cores", p.CPUCores)
	}
}

func checkWhere(c *complaints, field string, p *Profile) {
	if p.Build != "" && !plainWord(p.Build) {
		c.add(field+".build", "%q is no build; use one such as cpu or cu129", p.Build)
	}
	if p.Pool != "" && !plainWord(p.Pool) {
		c.add(field+".pool", "%q cannot name a pool", p.Pool)
	}
	for _, k := range sortedKeys(p.Labels) {
		if k == "" || len(k) > MaxName || !printable(k) || strings.ContainsAny(k, " =,") {
			c.add(field+".labels", "%q is no label; a label has no spaces, commas or =", k)
		}
	}
	if s := p.Spread; s != nil {
		if !s.Level.Valid() {
			c.add(field+".spread.level", "%q is no level; use node, rack, pdu, row, room or site", s.Level)
		}
		c.negative(field+".spread.max_per_domain", int64(s.MaxPerDomain))
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
