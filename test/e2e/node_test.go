//go:build unix

package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
)

// node is an agent as a process, joined over real TLS.
type node struct {
	*process
	t    *testing.T
	name string
	// dir is its data folder; engines work in folders below it.
	dir  string
	args []string
	// program is the agent's.
	program string
}

var portRange atomic.Int32

// ports is a range for one agent: each test plays a machine of its own.
func ports() string {
	from := 20000 + 100*(1+int(portRange.Add(1))%98)
	return fmt.Sprintf("ports: {min: %d, max: %d}\n", from, from+99)
}

// joinToken makes a permission to join.
func (p *plane) joinToken() string {
	p.t.Helper()
	tok, err := p.admin.CreateJoinToken(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return tok.Token
}

// join makes a data folder a node's.
func (p *plane) join(name, dir, token string, more ...string) (output string, code int) {
	p.t.Helper()
	args := append([]string{"join", "--control", p.Agents, "--name", name, "--data-dir", dir}, more...)
	return runProgram(p.t, []string{"LLMGW_JOIN_TOKEN=" + token}, agentBin, args...)
}

// startNode joins a machine and runs its agent. The configuration is YAML and
// may be empty. When the test ends, the engines do too.
func (p *plane) startNode(name, config string) *node {
	p.t.Helper()
	return p.startNodeAt(name, config, "127.0.0.1")
}

// startNodeAt does so for a machine that routers reach at an address.
func (p *plane) startNodeAt(name, config, address string) *node {
	p.t.Helper()
	return p.startProgramAt(name, config, address, agentBin)
}

// startProgramAt does so with a program of the agent.
func (p *plane) startProgramAt(name, config, address, program string) *node {
	p.t.Helper()
	n := &node{t: p.t, name: name, dir: p.t.TempDir(), program: program}
	if out, code := p.join(name, n.dir, p.joinToken()); code != 0 {
		p.t.Fatalf("join: %s", out)
	}
	config += ports()
	file := filepath.Join(p.t.TempDir(), "agent.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		p.t.Fatal(err)
	}
	n.args = []string{"run", "--data-dir", n.dir, "--config", file, "--mgmt-addr", address, "--stop-engines"}
	n.start()
	p.untilNode(name, "ready")
	return n
}

func (n *node) start() {
	n.t.Helper()
	n.process = start(n.t, "agent-"+n.name, n.program, n.args...)
}

// engines are the processes of its engines.
func (n *node) engines() map[int]string { return enginesIn(n.dir) }

// pids are those of its engines, in order.
func (n *node) pids() []int { return slices.Sorted(maps.Keys(n.engines())) }

// theEngine is the pid of the one engine there is.
func (n *node) theEngine() int {
	n.t.Helper()
	es := n.engines()
	if len(es) != 1 {
		n.t.Fatalf("want one engine of node %s, got %v", n.name, es)
	}
	for pid := range es {
		return pid
	}
	return 0
}
