//go:build unix

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Where the binaries of this run are. TestMain sets them before any test.
var controlBin, agentBin string

// TestMain builds the binaries once, and fails the run when a test leaves a
// process behind.
func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	root, err := os.MkdirTemp("", "llmgw-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(root)
	bin := filepath.Join(root, "bin")
	build := exec.Command("go", "build", "-race="+strconv.FormatBool(raced), "-o", bin+"/", "llmgw.io/llmgw/cmd/...")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build the binaries:", err)
		return 1
	}
	controlBin, agentBin = filepath.Join(bin, "llmgw-control"), filepath.Join(bin, "llmgw-agent")
	if llama := os.Getenv("LLMGW_LLAMA_SERVER"); llama != "" {
		// Agents look for it on the PATH.
		if err := os.Setenv("PATH", filepath.Dir(llama)+string(os.PathListSeparator)+os.Getenv("PATH")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	// Folders of tests lie under the root, so that their processes are known by it.
	if err := os.Setenv("TMPDIR", root); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return max(m.Run(), leftovers(root))
}

// leftovers ends what still runs out of the root, and says so.
func leftovers(root string) int {
	left := processesIn(root)
	for end := time.Now().Add(5 * time.Second); len(left) > 0 && time.Now().Before(end); left = processesIn(root) {
		time.Sleep(50 * time.Millisecond)
	}
	for _, p := range left {
		fmt.Fprintf(os.Stderr, "a test left a process behind: %d %s\n", p.pid, p.command)
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
	return min(len(left), 1)
}
