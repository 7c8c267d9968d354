package ports

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/inventory"
)

// fabric is a made-up one, by what each port hears: the manager's GUID, or "!" and
// why it hears none.
type fabric struct {
	t     *testing.T
	hears map[string]string
	asked []string
	// stands, if set, is the list of managers that the fabric tells.
	stands string
}

// tool answers as the tools do.
func (f *fabric) tool(_ context.Context, _ time.Duration, _ int, path string, args ...string) ([]byte, error) {
	port := args[1] + "/" + args[3]
	heard := f.hears[port]
	switch why, fails := strings.CutPrefix(heard, "!"); {
	case fails:
		f.asked = append(f.asked, port)
		return nil, errors.New(why)
	case strings.HasSuffix(path, "sminfo"):
		f.asked = append(f.asked, port)
		return fmt.Appendf(nil, "sminfo: sm lid 1 sm guid 0x%s, activity count 9 priority 5 state 3 SMINFO_MASTER\n", heard), nil
	case strings.HasSuffix(path, "smpquery"):
		return []byte("# Port info:\nNeighborMTU:.....................4096\n"), nil
	case f.stands != "":
		return []byte(f.stands), nil
	}
	return nil, errors.New("no answer")
}

func (f *fabric) took() string {
	s := strings.Join(f.asked, " ")
	f.asked = nil
	return s
}

// machine is a reader whose tools are the fabric, and its ports a to d, all up.
func machine(t *testing.T, f *fabric) (*Reader, func() []inventory.Port) {
	dir := t.TempDir()
	tools := Tools{}
	for name, at := range map[string]*string{"sminfo": &tools.SMInfo, "smpquery": &tools.SMPQuery, "saquery": &tools.SAQuery} {
		put(t, dir, name, "a tool")
		*at = dir + "/" + name
	}
	r := tree{"sys/class/infiniband_mad/abi_version": "5"}.reader(t, func(c *Config) { c.Tools = tools })
	r.tool = f.tool
	return r, func() []inventory.Port {
		var out []inventory.Port
		for i, name := range []string{"a", "b", "c", "d"} {
			out = append(out, inventory.Port{HCA: name, Port: 1, LinkLayer: layerInfiniBand, State: stateActive, PhysState: physUp, Active: true, LID: 10 + i, SMLID: 1})
		}
		return out
	}
}

const (
	guidA = "e41d2d0300000001"
	guidB = "e41d2d0300000002"
	guidC = "e41d2d0300000003"
)

func physicals(list []inventory.Port) string {
	var out []string
	for i := range list {
		s := strings.TrimPrefix(list[i].Physical, "sm:")
		if list[i].SMError != "" {
			s += "!"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

// step is a look after so long, who was asked at it, and what is said then.
func step(t *testing.T, f *fabric, r *Reader, list []inventory.Port, now time.Time, asked, said string) {
	t.Helper()
	r.manage(t.Context(), list, now)
	if got := f.took(); got != asked {
		t.Errorf("asked %q, want %q", got, asked)
	}
	if got := physicals(list); got != said {
		t.Errorf("said %q, want %q", got, said)
	}
}

// Each port is asked once, since two fabrics may have managers at one address;
// then one port a minute stands for its fabric, each in its turn.
func TestOnePortAsksForItsFabric(t *testing.T) {
	t.Parallel()
	f := &fabric{t: t, hears: map[string]string{"a/1": guidA, "b/1": guidA, "c/1": guidB, "d/1": guidA}}
	r, ports := machine(t, f)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	all := guidA + " " + guidA + " " + guidB + " " + guidA
	step(t, f, r, ports(), now, "a/1 b/1 c/1 d/1", all)
	step(t, f, r, ports(), now.Add(59*time.Second), "", all)
	step(t, f, r, ports(), now.Add(60*time.Second), "a/1 c/1", all)
	step(t, f, r, ports(), now.Add(90*time.Second), "", all)
	step(t, f, r, ports(), now.Add(120*time.Second), "b/1 c/1", all)
	list := ports()
	r.manage(t.Context(), list, now.Add(121*time.Second))
	want := &inventory.SubnetManager{GUID: guidA, LID: 1, State: "master", Priority: 5}
	if d := cmp.Diff(want, list[0].SM); d != "" || list[0].MTU != 4096 {
		t.Errorf("MTU %d, (-want +got):\n%s", list[0].MTU, d)
	}
}

// While nobody answers, the last that is known stands: it is no change. A new GUID
// is one, for all ports of the fabric at once and no other.
func TestAFailureIsNoChange(t *testing.T) {
	t.Parallel()
	f := &fabric{t: t, hears: map[string]string{"a/1": guidA, "b/1": guidA, "c/1": guidB, "d/1": guidA}}
	r, ports := machine(t, f)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	step(t, f, r, ports(), now, "a/1 b/1 c/1 d/1", guidA+" "+guidA+" "+guidB+" "+guidA)
	for _, p := range []string{"a/1", "b/1", "d/1"} {
		f.hears[p] = "!failed: query"
	}
	now = now.Add(time.Minute)
	lost := guidA + "! " + guidA + "! " + guidB + " " + guidA + "!"
	step(t, f, r, ports(), now, "a/1 c/1", lost)
	step(t, f, r, ports(), now.Add(30*time.Second), "", lost)
	now = now.Add(time.Minute)
	step(t, f, r, ports(), now, "b/1 c/1", lost)
	for _, p := range []string{"a/1", "b/1", "d/1"} {
		f.hears[p] = guidC
	}
	now = now.Add(time.Minute)
	step(t, f, r, ports(), now, "d/1 a/1 b/1 c/1", guidC+" "+guidC+" "+guidB+" "+guidC)
}

// A port whose addresses are others, or that was down, is asked at once.
func TestAPortThatMoved(t *testing.T) {
	t.Parallel()
	f := &fabric{t: t, hears: map[string]string{"a/1": guidA, "b/1": guidA, "c/1": guidA, "d/1": guidA}}
	r, ports := machine(t, f)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r.manage(t.Context(), ports(), now)
	f.took()
	f.hears["b/1"], f.hears["c/1"] = guidB, "!failed: query"
	list := ports()
	list[1].SMLID = 7
	list[2].Active, list[2].State = false, "DOWN"
	step(t, f, r, list, now.Add(time.Second), "b/1", guidA+" "+guidB+"  "+guidA)
	list = ports()
	list[1].SMLID = 7
	step(t, f, r, list, now.Add(2*time.Second), "c/1", guidA+" "+guidB+" ! "+guidA)
}

// Where nobody may ask, one port tries for all that would ask the same address.
func TestNobodyMayAsk(t *testing.T) {
	t.Parallel()
	f := &fabric{t: t, hears: map[string]string{"a/1": "!no rights", "b/1": "!no rights", "c/1": "!no rights", "d/1": "!no rights"}}
	r, ports := machine(t, f)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	step(t, f, r, ports(), now, "a/1", "! ! ! !")
	f.hears["b/1"] = guidB // it has the rights, and is asked in its turn
	step(t, f, r, ports(), now.Add(time.Minute), "b/1 c/1", "! "+guidB+" ! !")
}

func TestToolsThatAreMissing(t *testing.T) {
	t.Parallel()
	r := infiniband("ibp3", 1).reader(t, func(c *Config) { c.Tools.SMInfo = t.TempDir() + "/sminfo" })
	list, _, err := r.Ports(t.Context())
	if err != nil || len(list) != 1 || !strings.Contains(list[0].SMError, "install the package infiniband-diags") || !list[0].Active {
		t.Errorf("want an active port and which package to install, got %+v, %v", list, err)
	}
}

// A tool's complaint comes with what to do about it, as far as that can be told.
func TestWhatToDoAboutAComplaint(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, says string
		world      tree
		want       string
	}{
		{"no module", "can't open UMAD port", tree{"sys/x": "y"}, "ib_umad"},
		{"no devices", "can't open UMAD port", tree{"sys/class/infiniband_mad/abi_version": "5"}, "container"},
		{"no rights", "can't open UMAD port", tree{"sys/class/infiniband_mad/abi_version": "5", "dev/infiniband/umad0": "x"}, "root"},
		{"nobody answers", "failed: query", tree{"sys/x": "y"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := c.world.reader(t, nil).advise(errors.New(c.says)).Error()
			if want := c.says; c.want == "" && got != want || !strings.Contains(got, c.want) || !strings.HasPrefix(got, want) {
				t.Errorf("want %q and advice with %q, got %q", want, c.want, got)
			}
		})
	}
}

func TestAllManagersOfAFabric(t *testing.T) {
	t.Parallel()
	f := &fabric{t: t, hears: map[string]string{"a/1": guidA, "b/1": guidA, "c/1": guidA, "d/1": guidA}}
	f.stands = "SMInfoRecord dump:\n\tRID\n\tLID.....................4\n\tSMInfo dump:\n\tGUID....................0x" + guidB +
		"\n\tPriority................3\n\tSMState.................2\nSMInfoRecord dump:\n\tLID....1\n\tGUID..........0x" + guidA + "\n\tPriority........5\n\tSMState......3\n"
	r, ports := machine(t, f)
	list := ports()
	r.manage(t.Context(), list, time.Now())
	want := []inventory.SubnetManager{{GUID: guidA, LID: 1, State: "master", Priority: 5}, {GUID: guidB, LID: 4, State: "standby", Priority: 3}}
	for i := range list {
		if d := cmp.Diff(want, list[i].SMs); d != "" {
			t.Errorf("port %s (-want +got):\n%s", list[i].HCA, d)
		}
	}
}

func TestWhatSminfoSays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "something else",
		"sminfo: sm lid 4 sm guid 0xe41d2d0300000001, activity count 1 priority 0 state 2 SMINFO_STANDBY\n": "in state standby",
		"sminfo: sm lid 4 sm guid 0xe41d2d0300000001, activity count 1 priority 0 state 9 WHAT\n":           "in state unknown",
		"sminfo: sm lid 4 sm guid 0x0, activity count 1 priority 0 state 3 SMINFO_MASTER\n":                 "no GUID",
	} {
		if _, err := parseSMInfo(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want %q, got %v", text, want, err)
		}
	}
}
