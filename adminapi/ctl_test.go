package adminapi_test

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"llmgw.io/llmgw/adminapi"
	"llmgw.io/llmgw/adminapi/ctl"
	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
	"llmgw.io/llmgw/placement/reconciler"
	"llmgw.io/llmgw/storage"
)

// Every row of the table has a command, which says of itself what the table
// says, unless several commands share the row.
func TestCommandsHaveEveryRoute(t *testing.T) {
	t.Parallel()
	users := map[string][]string{} // what commands say of themselves, by operation
	queue := ctl.Command().Commands
	for len(queue) > 0 {
		c := queue[0]
		queue = append(queue[1:], c.Commands...)
		if ops, _ := c.Metadata[ctl.Operations].([]string); len(ops) == 1 {
			users[ops[0]] = append(users[ops[0]], c.Usage)
		}
	}
	if len(users) == 0 {
		t.Fatal("no command says which operations it uses")
	}
	for _, r := range adminapi.Routes() {
		cs := users[r.Operation]
		switch {
		case len(cs) == 0:
			t.Errorf("%s %s: no command uses %s", r.Method, r.Pattern, r.Operation)
		case len(cs) == 1 && cs[0] != r.Summary:
			t.Errorf("%s: the command says %q and the table %q", r.Operation, cs[0], r.Summary)
		}
		delete(users, r.Operation)
	}
	for op := range users {
		t.Errorf("a command uses %s, which is in no row", op)
	}
}

// terminal runs commands against a house.
type terminal struct {
	h      *house
	server string
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	h := newHouse(t)
	srv := httptest.NewServer(h.api)
	t.Cleanup(srv.Close)
	return &terminal{h: h, server: srv.URL}
}

// run is one command line, as the owner.
func (x *terminal) run(t *testing.T, stdin string, args ...string) (out, errOut string, err error) {
	t.Helper()
	var o, e bytes.Buffer
	c := ctl.Command()
	c.Reader, c.Writer, c.ErrWriter = strings.NewReader(stdin), &o, &e
	all := slices.Concat([]string{"ctl", "--server", x.server, "--token", x.h.tokens[storage.RoleOwner], "--actor", "tester"}, args)
	err = c.Run(t.Context(), all)
	return o.String(), e.String(), err
}

const tinyYAML = `
name: org/tiny
aliases: [small]
source: file:///weights/tiny.gguf
scaling: {min: 1, max: 2, idle_timeout: 10m}
profiles:
  - name: cpu
    engine: llamacpp
    min_memory_gb: 2
`

func TestCommandsFromEndToEnd(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	x.h.node("a1")
	steps := []struct {
		line  string
		stdin string
		want  []string
	}{
		{"models add -f -", tinyYAML, []string{"Model org/tiny is added"}},
		{"models list", "", []string{"MODEL", "org/tiny", "standard"}},
		{"models get org/tiny", "", []string{"name: org/tiny", "idle_timeout: 600000000000"}},
		{"models get org/tiny -o json", "", []string{`"name": "org/tiny"`}},
		{"models scale org/tiny --min 2", "", []string{"Model org/tiny has 2 replicas."}},
		{"models scale org/tiny --min 1", "", []string{"Model org/tiny has 1 replica."}},
		{"models scale org/tiny --min 1 --max 3", "", []string{"has 1 to 3 replicas."}},
		{"models scale org/tiny --min 0 --max 1 --idle-timeout 5m", "", []string{"on demand", "5m0s"}},
		{"models resources org/tiny --memory-gb 4 --cpu-cores 2", "", []string{"cpu", "4", "2"}},
		{"models class org/tiny batch", "", []string{"Model org/tiny is batch."}},
		{"models put org/tiny -f -", tinyYAML, []string{"Model org/tiny is replaced."}},
		{"models retry small", "", []string{"was not parked"}},
		{"models target small", "", []string{"org/tiny", "min"}},
		{"models headroom small --limit 2", "", []string{"room for 0 more"}},
		{"explain small", "", []string{"has no replica"}},
		{"nodes list", "", []string{"NODE", "a1", "64 GiB"}},
		{"nodes cordon a1 --reason swap", "", []string{"Node a1 is cordoned."}},
		{"nodes drain a1", "", []string{"Node a1 is draining."}},
		{"nodes ready a1", "", []string{"Node a1 is ready."}},
		{"nodes get a1", "", []string{"id: a1", "state: ready"}},
		{"nodes label a1 llmgw.io/rack=r1 llmgw.io/row=w1 tier=old", "", []string{"llmgw.io/rack", "operators"}},
		{"nodes label a1 tier-", "", []string{"llmgw.io/row"}},
		{"nodes upgrade --all --version v0.0.1", "", []string{"a1", "v0.0.1", "done"}},
		{"holds list", "", nil},
		{"holds plan rack:r1", "", nil},
		{"holds add rack:r1 --reason swap --from 2h --until 4h", "", []string{"is planned"}},
		{"holds add row:w1 --from now", "", []string{"carried out"}},
		{"holds add rack:r1 --reason swap", "", []string{"rack:r1 is held"}},
		{"holds list", "", []string{"rack:r1", "swap", "in_force", "token:owner"}},
		{"facility", "", []string{"row:w1", "in_force: swap"}},
		{"nodes get a1", "", []string{"held_domain: row:w1"}},
		{"holds release rack:r1", "", []string{"Place rack:r1 is released."}},
		{"holds release row:w1", "", []string{"released"}},
		{"brake release", "", []string{"was not set"}},
		{"replicas -o json", "", []string{"[]"}},
		{"usage --by model", "", nil},
		{"requests explain req_known", "", []string{"tiny-1", "yes", "120ms", "700", "0.5000", "in trouble"}},
		{"requests explain req_known -o json", "", []string{`"cached_tokens": 700`, "only replica that could be asked"}},
		{"audit list --object model:org/tiny", "", []string{"models.scale", "token:owner", "tester"}},
		{"audit verify", "", []string{"whole"}},
		{"keys create --name ci --model org/tiny --expires-in 24h", "", []string{"sk-llmgw-"}},
		{"keys list", "", []string{"ci", "org/tiny", "works until"}},
		{"tokens join create", "", []string{"llmgw-join-"}},
		{"tokens join list", "", []string{"abcdefghij"}},
		{"tokens join revoke abcdefghij", "", []string{"revoked"}},
		{"tokens admin create --name ci --role viewer", "", []string{"llmgw-adm-"}},
		{"tokens admin list", "", []string{"ci", "viewer"}},
		{"summary", "", []string{"1 ready", "memory"}},
		{"openapi", "", []string{`"openapi": "3.1.0"`}},
		{"plan model org/tiny --min 3 --max 3", "", []string{"placed", "org/tiny"}},
		{"plan model org/tiny --class critical", "", nil},
		{"plan model org/huge -f -", strings.NewReplacer("org/tiny", "org/huge", "[small]", "[]", "memory_gb: 2", "memory_gb: 4000").Replace(tinyYAML), []string{"Model org/huge would lack 1:", "too little of its memory is free"}},
		{"plan model org/tiny --remove", "", []string{"lost", "the model was removed"}},
		{"plan node a1 draining", "", []string{"nothing took over", "Model org/tiny would lack 1:", "takes nothing new"}},
		{"plan label a1 llmgw.io/pool=p", "", nil},
		{"plan hold rack:r1 --from 2h --until 4h", "", nil},
		{"models rm org/tiny", "", []string{"Model org/tiny is removed."}},
	}
	for _, s := range steps {
		out, errOut, err := x.run(t, s.stdin, strings.Fields(s.line)...)
		if err != nil {
			t.Errorf("%s: %v\n%s", s.line, err, errOut)
		}
		for _, w := range s.want {
			if !strings.Contains(out, w) {
				t.Errorf("%s: want %q in\n%s%s", s.line, w, out, errOut)
			}
		}
	}
}

// What would help stands below what stands in the way.
func TestCommandsTellTheFix(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	x.h.must(t, tiny("tiny"))
	trace := placement.Trace{Profiles: []placement.ProfileTrace{{
		Profile: "cpu", Looked: 400, Counts: map[placement.Reason]int{placement.Held: 100, placement.NotReady: 300},
		Lines: []placement.Rejection{{Node: "a1", Reason: placement.NotReady, Text: "is cordoned"}}, Omitted: 299,
	}}}
	x.h.loop.view.Traces = map[catalog.Name]placement.Trace{"tiny": trace}
	x.h.loop.help = func(m catalog.Name) (reconciler.Help, error) {
		a1 := &inventory.Node{ID: "a1", Hearing: inventory.Heard, Settings: inventory.NodeSettings{Wish: inventory.WishCordoned}}
		return reconciler.Reconciler{}.Help(&reconciler.View{Catalog: x.h.models.Index(), Fleet: inventory.NewSnapshot(1, []*inventory.Node{a1})}, m, nil)
	}
	x.h.loop.headroom = func(catalog.Name, int) (reconciler.Headroom, error) {
		return reconciler.Headroom{Headroom: placement.Headroom{Blocked: trace}, Help: reconciler.Help{Why: "No small change makes room."}}, nil
	}
	for line, want := range map[string][]string{
		"explain tiny":         {"a1", "is cordoned", "And 299 more nodes.", "Looked at 400: not_ready 300, held 100.", "What would help: Uncordon node a1: then it fits", "1. uncordon node a1: it is cordoned"},
		"models headroom tiny": {"a1: is cordoned (cpu)", "No small change makes room."},
	} {
		out, errOut, err := x.run(t, "", strings.Fields(line)...)
		if err != nil {
			t.Errorf("%s: %v\n%s", line, err, errOut)
		}
		for rest := out; len(want) > 0; want = want[1:] {
			var found bool
			if _, rest, found = strings.Cut(rest, want[0]); !found {
				t.Errorf("%s: want %q after what is before it in\n%s", line, want[0], out)
			}
		}
	}
}

// Whoever edits a definition learns that what runs is not replaced by it.
func TestCommandsTellWhatStaysAsItWas(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	x.h.node("a1")
	if _, errOut, err := x.run(t, tinyYAML, "models", "add", "-f", "-"); err != nil {
		t.Fatal(err, errOut)
	}
	x.h.running(t, "org/tiny")
	renamed := strings.Replace(tinyYAML, "name: cpu", "name: other", 1)
	for _, c := range []struct {
		stdin string
		line  []string
		told  bool
	}{
		{tinyYAML, []string{"models", "put", "org/tiny", "-f", "-"}, false},
		{"", []string{"models", "class", "org/tiny", "batch"}, false},
		{"", []string{"models", "resources", "org/tiny", "--memory-gb", "4", "--cpu-cores", "2"}, true},
		{tinyYAML + "    context: 4096\n", []string{"models", "put", "org/tiny", "-f", "-"}, true},
		{renamed, []string{"models", "put", "org/tiny", "-f", "-"}, true},
		{renamed, []string{"models", "put", "org/tiny", "-f", "-", "-o", "json"}, false},
	} {
		out, errOut, err := x.run(t, c.stdin, c.line...)
		if told := strings.Contains(out+errOut, "1 replica runs as it was defined before; ctl restart --rollout --model org/tiny replaces it."); err != nil || told != c.told {
			t.Errorf("%v: want it told: %v, got %v\n%s%s", c.line, c.told, err, out, errOut)
		}
	}
}

// What is next to nothing has no sign.
func TestCommandsTellScores(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	x.h.must(t, tiny("tiny"))
	x.h.loop.view.Traces = map[catalog.Name]placement.Trace{"tiny": {Profiles: []placement.ProfileTrace{{
		Profile: "cpu", Looked: 2, Chosen: 1, Counts: map[placement.Reason]int{placement.Outscored: 1},
		Best: []placement.Score{{Node: "a1", Total: -0.004, Parts: map[string]float64{"load": -0.004}}, {Node: "a2", Total: -1.5, Parts: map[string]float64{"load": 0.25, "spread": -1.75}}},
	}}}}
	out, errOut, err := x.run(t, "", "explain", "tiny")
	if err != nil || strings.Contains(out, "0.00,") || strings.Contains(out, "-0.00") || strings.Contains(out, "+0.00") {
		t.Errorf("want no sign before nothing, got %v\n%s%s", err, out, errOut)
	}
	for _, want := range []string{" 0.00 ", "load 0.00", "-1.50", "load +0.25, spread -1.75"} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q in\n%s", want, out)
		}
	}
}

func TestCommandsThatFail(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	steps := []struct {
		line, stdin string
		code        int
		says        string
	}{
		{"requests explain req_old", "", 1, "nothing is known of how request"},
		{"models get nobody", "", 1, "there is no model \"nobody\""},
		{"models add -f -", "name: x\nnope: 1\n", 1, `there is no field "nope"`},
		{"models add -f -", "- a\n- b\n", 1, "must be one object"},
		{"models add -f -", "{name: [", 1, "neither JSON nor YAML"},
		{"models add -f /does/not/exist", "", 1, "cannot be read"},
		{"models add", "", 2, "file"},
		{"models get", "", 2, "takes one argument (MODEL)"},
		{"models get a b", "", 2, "takes one argument (MODEL)"},
		{"models scale x", "", 2, "min"},
		{"models scale x --min many", "", 2, "many"},
		{"models frobnicate", "", 2, `no command "frobnicate"`},
		{"frobnicate", "", 2, `no command "frobnicate"`},
		{"models list --nope", "", 2, "nope"},
		{"models list -o xml", "", 2, "table, json or yaml"},
		{"restart", "", 2, "--all"},
		{"nodes label a1", "", 2, "takes 2 arguments"},
		{"nodes label a1 tier", "", 2, "key=value"},
		{"nodes label nobody k=v", "", 1, "there is no node"},
		{"holds add shelf:1", "", 1, "names no domain"},
		{"holds add rack:r1 --until yesterday", "", 2, "--until takes"},
		{"holds add rack:r1 --until -1h", "", 1, "is past"},
		{"holds release rack:none", "", 1, "is not held"},
		{"nodes upgrade a1", "", 2, "--version v1.2.3"},
		{"nodes upgrade a1 --version v9.0.0", "", 1, "so none was upgraded"},
		{"nodes rm nobody", "", 1, "there is no node"},
		{"wait nobody", "", 1, "there is no model"},
		{"plan model nobody --remove", "", 1, "list the models to see their names"},
		{"plan model x", "", 1, "exactly one of definition, scale, class, resources or remove, and has none"},
		{"plan model x --max 2", "", 2, "--max needs --min"},
		{"plan model x -f -", "name: x\nnope: 1\n", 1, `unknown field "nope"`},
		{"plan node nobody draining", "", 1, "ctl nodes list, lists them"},
		{"plan node a1 asleep", "", 1, "ready, cordoned, draining, lost, removed"},
		{"plan hold rack:none --release", "", 1, "ctl holds list, lists what is"},
		{"nodes list --token llmgw-adm-wrong", "", 1, "not valid"},
	}
	for _, s := range steps {
		_, _, err := x.run(t, s.stdin, strings.Fields(s.line)...)
		if err == nil || ctl.ExitCode(err) != s.code || !strings.Contains(err.Error(), s.says) {
			t.Errorf("%s: want exit %d and %q, got %d, %v", s.line, s.code, s.says, ctl.ExitCode(err), err)
		}
	}
	if ctl.ExitCode(nil) != 0 {
		t.Error("no error is 0")
	}
}

func TestWhereTheTokenComesFrom(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "admin.token")
	if err := os.WriteFile(file, []byte(x.h.tokens[storage.RoleViewer]+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) error {
		c := ctl.Command()
		c.Writer, c.ErrWriter = &bytes.Buffer{}, &bytes.Buffer{}
		return c.Run(t.Context(), append([]string{"ctl", "--server", x.server}, args...))
	}
	if err := run("--data-dir", dir, "models", "list"); err != nil {
		t.Errorf("the data folder's own token: %v", err)
	}
	if err := run("--token-file", file, "models", "list"); err != nil {
		t.Errorf("a file: %v", err)
	}
	// A whole system on one machine keeps it one folder down.
	dev := t.TempDir()
	if err := os.Mkdir(filepath.Join(dev, "control"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file, filepath.Join(dev, "control", "admin.token")); err != nil {
		t.Fatal(err)
	}
	if err := run("--data-dir", dev, "models", "list"); err != nil {
		t.Errorf("want the token of a whole system to be found: %v", err)
	}
	if err := run("--data-dir", t.TempDir(), "models", "list"); err == nil || !strings.Contains(err.Error(), "admin.token") {
		t.Errorf("want to be told where it was looked for, got %v", err)
	}
	if err := run("--token-file", filepath.Join(dir, "none"), "models", "list"); err == nil || ctl.ExitCode(err) != 1 {
		t.Errorf("a named file must be there, got %v", err)
	}
}

func TestProgramsGetWhatTheAPIAnswers(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	m := tiny("tiny")
	m.Description = "a <b> & c\x1b[31m"
	x.h.must(t, m)
	out, _, err := x.run(t, "", "models", "list", "-o", "json")
	var list []view.ModelView
	if err != nil || json.Unmarshal([]byte(out), &list) != nil || len(list) != 2 || list[1].Description != m.Description {
		t.Errorf("want the list whole, got %s, %v", out, err)
	}
	x.h.loop.retry = func(catalog.Name) (bool, error) { return true, nil }
	if out, _, err := x.run(t, "", "models", "retry", "tiny", "-o", "yaml"); err != nil || strings.TrimSpace(out) != "was_parked: true" {
		t.Errorf("want YAML, got %q, %v", out, err)
	}
}

func TestTokensStandAlone(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	var out bytes.Buffer
	c := ctl.TokensCommand()
	c.Writer, c.ErrWriter = &out, &bytes.Buffer{}
	err := c.Run(t.Context(), []string{"tokens", "--server", x.server, "--token", x.h.tokens[storage.RoleOwner], "admin", "list"})
	if err != nil || !strings.Contains(out.String(), "operator") {
		t.Errorf("want the admin tokens, got %s, %v", out.String(), err)
	}
}

// A place that no node names may be a slip of the pen, so people are told.
func TestCommandsDoubtPlaces(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	x.h.node("a1")
	if _, _, err := x.run(t, "", "nodes", "label", "a1", "llmgw.io/rack=r1"); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"holds plan rack:", "plan hold rack:", "holds add rack:"} {
		for name, doubted := range map[string]bool{"r1": false, "rl": true} {
			out, errOut, err := x.run(t, "", strings.Fields(line+name)...)
			if err != nil {
				t.Errorf("%s%s: %v", line, name, err)
			}
			if told := strings.Contains(out+errOut, "No node says that it stands in rack:"+name+"; GET /api/v1/facility lists the places."); told != doubted {
				t.Errorf("%s%s: want doubt %t in\n%s%s", line, name, doubted, out, errOut)
			}
		}
	}
}
