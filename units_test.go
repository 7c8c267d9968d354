package llmgw_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// program is what a unit starts. It need not be installed where tests run.
var program = regexp.MustCompile(`(?m)^ExecStart=\S+`)

// TestUnits asks the service manager's own checker, and looks for lines that would
// take the agent's engines away with it, or the rights by which it gives them users.
func TestUnits(t *testing.T) {
	t.Parallel()
	checker, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed here")
	}
	units, err := filepath.Glob("packaging/systemd/*.service")
	if err != nil || len(units) < 2 {
		t.Fatalf("the units are %v, %v", units, err)
	}
	for _, unit := range units {
		text, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), filepath.Base(unit))
		if err := os.WriteFile(path, program.ReplaceAll(text, []byte("ExecStart=/bin/true")), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), checker, "verify", "--man=no", path).CombinedOutput()
		for line := range strings.Lines(string(out)) {
			// Older service managers ignore what newer ones know, and say so.
			if strings.Contains(line, filepath.Base(unit)) && !strings.Contains(line, "'DelegateSubgroup'") {
				t.Errorf("%s", line)
			}
		}
		if err != nil && !strings.Contains(string(out), "'DelegateSubgroup'") {
			t.Errorf("%s: %v\n%s", unit, err, out)
		}
	}

	agent, err := os.ReadFile("packaging/systemd/llmgw-agent.service")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(agent), "\n")
	for _, want := range []string{"KillMode=process", "Delegate=yes", "DelegateSubgroup=agent", "OOMPolicy=continue", "OOMScoreAdjust=-500", "NoNewPrivileges=yes", "LimitCORE=0", "StateDirectoryMode=0711"} {
		if !slices.Contains(lines, want) {
			t.Errorf("the agent's unit has no line %s", want)
		}
	}
	for _, line := range lines {
		key, _, _ := strings.Cut(line, "=")
		switch key {
		case "User", "DynamicUser", "PrivateUsers", "CapabilityBoundingSet", "AmbientCapabilities", "PrivateTmp", "ProtectProc", "ProtectControlGroups", "PrivateDevices", "SystemCallFilter", "MemoryMax", "TasksMax":
			if line != "TasksMax=infinity" {
				t.Errorf("the agent's unit says %s, which its engines cannot live with", line)
			}
		}
	}
}
