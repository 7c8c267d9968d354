package engines

import (
	"net"
	"strconv"
	"strings"

	"llmgw.io/llmgw/agent/protocol"
)

// checkNodes says what vLLM cannot do on several nodes.
func checkNodes(r *refusals, d protocol.DesiredShard, at protocol.Launch) {
	per, all := len(d.Devices), max(1, d.TensorParallel)*max(1, d.PipelineParallel)*max(1, d.DataParallel)
	r.when(lacks(at.Build.Version, vllmNodes), "vLLM %s runs on one node only; install %s or newer, or set shards to 1", clip(at.Build.Version), vllmNodes)
	r.when(d.Rank < 0 || d.Rank >= d.Of, "%d is no rank among %d shards", d.Rank, d.Of)
	r.when(net.ParseIP(d.LeaderAddr) == nil, "the node of the leading shard does not say at which address others reach it; set mgmt_addr in its agent's configuration")
	r.when(d.LeaderPort < 1 || d.LeaderPort > 65534, "the shards have no port to find each other at; the control plane is older than this agent")
	r.when(net.ParseIP(at.Addr) == nil, "this node has no address that the other shards reach; set mgmt_addr in its agent's configuration")
	r.when(per*d.Of != all, "%d shards of %d devices are not the %d that the parallel sizes need", d.Of, per, all)
	r.when(hasInstance(d, at), "instances of partitioned cards cannot form groups; set shards to 1")
	for _, h := range d.HCAs {
		r.when(!plainPort(h), "%q is no port of an adapter", clip(h))
	}
	r.when(strings.ContainsAny(at.Interface, ", =^\t\n"), "%q is no name of a network device", clip(at.Interface))
}

// plainPort reports whether s reads like "mlx5_0:1".
func plainPort(s string) bool {
	name, port, ok := strings.Cut(s, ":")
	n, err := strconv.Atoi(port)
	return ok && err == nil && n > 0 && name != "" && !strings.ContainsAny(name, ", =^\t\n")
}

// vllmShape is how a model is split, and where its other parts are. On several
// nodes each runs the same command but for its rank; those that follow have no
// front of their own.
func vllmShape(d protocol.DesiredShard) []string {
	var args []string
	for _, s := range [...]struct {
		flag string
		n    int
	}{
		{"--tensor-parallel-size", d.TensorParallel},
		{"--pipeline-parallel-size", d.PipelineParallel},
		{"--data-parallel-size", d.DataParallel},
	} {
		if s.n > 1 {
			args = append(args, s.flag, strconv.Itoa(s.n))
		}
	}
	if d.Of <= 1 {
		return args
	}
	args = append(args,
		"--distributed-executor-backend", "mp",
		"--nnodes", strconv.Itoa(d.Of), "--node-rank", strconv.Itoa(d.Rank),
		"--master-addr", d.LeaderAddr, "--master-port", strconv.Itoa(d.LeaderPort),
	)
	if d.DataParallel > 1 {
		args = append(args, "--data-parallel-address", d.LeaderAddr, "--data-parallel-rpc-port", strconv.Itoa(d.LeaderPort+1))
	}
	if d.Rank > 0 {
		args = append(args, "--headless")
	}
	return args
}

// vllmNetwork steers what the shards say to each other: over the adapters of the
// fabric they share, and for the rest over the device that has this node's
// address. Which entry of a port's table of addresses is used is left to NCCL:
// the numbers move when a port flaps.
func vllmNetwork(d protocol.DesiredShard, at protocol.Launch) []string {
	if d.Of <= 1 {
		return nil
	}
	env := []string{"VLLM_HOST_IP=" + at.Addr}
	if at.Interface != "" {
		// With a sign of equality the name is the whole name, not a beginning.
		env = append(env, "NCCL_SOCKET_IFNAME=="+at.Interface, "GLOO_SOCKET_IFNAME="+at.Interface)
	}
	if len(d.HCAs) > 0 {
		env = append(env, "NCCL_IB_HCA=="+strings.Join(d.HCAs, ","))
	}
	return env
}
