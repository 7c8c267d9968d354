package ports

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	imexJSON = `{"nodes":{"1":{"status":"UNAVAILABLE","host":"10.7.0.2","hostName":"","connections":{"0":{"host":"10.7.0.1","status":"INVALID","changed":true}},"version":""},
"0":{"status":"READY","host":"10.7.0.1","hostName":"tray-1","connections":{"0":{"status":"CONNECTED"},"1":{"status":"INVALID"}},"version":"580.1"}},"timestamp":"x","status":"DEGRADED"}`
	imexText = `Connectivity Table Legend:
I - Invalid - Node wasn't reachable, no connection status available
!V! - Version mismatch, communication disabled.
C - Connected - Ready for operation

1/2/2026 03:04:05.678
Nodes:
Node #0   - 10.7.0.1        - READY                - Version: 580.1
Node #1   - 10.7.0.2        - READY                - Version: 570.9
Node #2   - 10.7.0.3        - UNAVAILABLE          - Version:

 Nodes From\To  0   1   2
       0        C   !V! I
       1        !V! C   ?
       2        I   I   I

Domain State: DEGRADED
`
)

func TestIMEXDomain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       imexDomain
	}{
		{"JSON", imexJSON, imexDomain{State: "DEGRADED", Nodes: []imexNode{
			{Index: 0, Host: "10.7.0.1", Status: "READY", Version: "580.1", Links: map[int]string{0: "CONNECTED", 1: "INVALID"}},
			{Index: 1, Host: "10.7.0.2", Status: "UNAVAILABLE", Links: map[int]string{0: "INVALID"}},
		}}},
		{"text", imexText, imexDomain{State: "DEGRADED", Nodes: []imexNode{
			{Index: 0, Host: "10.7.0.1", Status: "READY", Version: "580.1", Links: map[int]string{0: "CONNECTED", 1: "VERSION_MISMATCH", 2: "INVALID"}},
			{Index: 1, Host: "10.7.0.2", Status: "READY", Version: "570.9", Links: map[int]string{0: "VERSION_MISMATCH", 1: "CONNECTED"}},
			{Index: 2, Host: "10.7.0.3", Status: "UNAVAILABLE", Links: map[int]string{0: "INVALID", 1: "INVALID", 2: "INVALID"}},
		}}},
	} {
		got, err := parseIMEX([]byte(c.text))
		if d := cmp.Diff(c.want, got); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, d)
		}
		if w := got.warnings(); len(w) > 0 != (c.name == "text") {
			t.Errorf("%s: %q", c.name, w)
		}
	}
	for _, bad := range []string{"", "{", "{}", `{"nodes":[]}`, "Nodes:\n", "Error: no service"} {
		if d, err := parseIMEX([]byte(bad)); err == nil {
			t.Errorf("%q was read as %+v", bad, d)
		}
	}
}

func TestIMEX(t *testing.T) {
	t.Parallel()
	driver := tree{"proc/devices": "Character devices:\n  1 mem\n234 nvidia-caps-imex-channels\n"}
	channels := driver.with(tree{"dev/nvidia-caps-imex-channels/channel0": "x", "dev/nvidia-caps-imex-channels/channel7": "x"})
	const active, dead, unknown = "LoadState=loaded\nActiveState=active\n", "LoadState=loaded\nActiveState=failed\n", "LoadState=not-found\nActiveState=inactive\n"
	two, zero := 2, 0
	for _, c := range []struct {
		name      string
		world     tree
		ctl       string // what -q prints; "!": it fails; empty: it is not installed
		unit      string // empty: there is no systemd
		state     string
		channels  *int
		mustAsked bool
	}{
		{"another machine", tree{"proc/devices": "1 mem\n"}, "", active, "", nil, false},
		{"the driver alone", driver, "", unknown, "", &zero, true},
		{"ready", channels, "READY\n", active, "READY", &two, true},
		{"on its way", channels, "WAITING_FOR_PEERS\n", active, "WAITING_FOR_PEERS", &two, true},
		{"stopped", channels, "READY\n", dead, "stopped", &two, true},
		{"runs, and its tool says nothing", channels, "!", active, "running", &two, true},
		{"runs, and its tool says much", channels, "usage: nvidia-imex-ctl\n", active, "running", &two, true},
		{"no tool", channels, "", active, "running", &two, true},
		{"a container without systemd", channels, "READY\n", "", "READY", &two, true},
		{"a container, and nobody answers", channels, "!", "", "stopped", &two, true},
		{"the tool without a driver", tree{}, "READY\n", unknown, "READY", nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			tools := Tools{IMEXCtl: filepath.Join(dir, "nvidia-imex-ctl"), Systemctl: filepath.Join(dir, "systemctl")}
			if c.ctl != "" {
				put(t, dir, "nvidia-imex-ctl", "a tool")
			}
			if c.unit != "" {
				put(t, dir, "systemctl", "a tool")
			}
			r := c.world.reader(t, func(cfg *Config) { cfg.Tools = tools })
			asked := false
			r.tool = func(_ context.Context, _ time.Duration, _ int, path string, args ...string) ([]byte, error) {
				asked = true
				switch {
				case path == tools.Systemctl:
					return []byte(c.unit), nil
				case c.ctl == "!":
					return nil, errors.New("it fails")
				case args[0] == "-q":
					return []byte(c.ctl), nil
				}
				return []byte(imexText), nil
			}
			state, channels, warnings := r.IMEX(t.Context())
			if d := cmp.Diff(c.channels, channels); d != "" || state != c.state {
				t.Errorf("state %q, want %q; channels (-want +got):\n%s", state, c.state, d)
			}
			if asked != c.mustAsked && c.ctl+c.unit != "" {
				t.Errorf("a program was run: %v, want %v", asked, c.mustAsked)
			}
			if said := strings.Join(warnings, ""); strings.Contains(said, "different versions") != (c.ctl != "" && c.state == strings.TrimSpace(c.ctl)) {
				t.Errorf("warnings %q", said)
			}
		})
	}
}
