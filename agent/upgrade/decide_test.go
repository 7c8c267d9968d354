package upgrade

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"llmgw.io/llmgw/inventory"
)

// TestDecide is the whole table of what a process is to do: whoever starts, in
// whatever state, some agent comes of it, and one that was proved.
func TestDecide(t *testing.T) {
	t.Parallel()
	pkg := installed{Path: "/usr/bin/llmgw-agent", Bytes: 1}
	other := installed{Path: "/usr/bin/llmgw-agent", Bytes: 2}
	base, replaced := place{have: pkg}, place{have: other}
	first := state{To: "v0.0.2", Installed: pkg}                     // from the installed program
	second := state{To: "v0.0.3", Back: "v0.0.2", Installed: pkg}    // and the next one
	in := func(folder string) place { return place{folder: folder} } // a version's program
	guarded := func(folder string) place { return place{folder: folder, guarded: true} }
	for _, c := range []struct {
		name   string
		s      *state
		phase  inventory.UpgradeState
		me     place
		what   act
		folder string
	}{
		{"nothing is written down", nil, "", base, beAgent, ""},
		{"nothing, and a version is started by hand", nil, "", in("v0.0.2"), beAgent, ""},

		{"on trial, the one before is started", &first, inventory.UpgradeTrial, base, beGuard, ""},
		{"on trial, guarded", &first, inventory.UpgradeTrial, guarded("v0.0.2"), beAgent, ""},
		{"on trial, started by hand", &first, inventory.UpgradeTrial, in("v0.0.2"), become, ""},
		{"on trial, another was installed", &first, inventory.UpgradeTrial, replaced, beAgent, ""},
		{"done, installed is started", &first, inventory.UpgradeDone, base, become, "v0.0.2"},
		{"done, itself", &first, inventory.UpgradeDone, in("v0.0.2"), beAgent, ""},
		{"done, another was installed", &first, inventory.UpgradeDone, replaced, beAgent, ""},
		{"failed, installed is started", &first, inventory.UpgradeFailed, base, beAgent, ""},
		{"failed, the new one is started", &first, inventory.UpgradeFailed, in("v0.0.2"), become, ""},

		{"second on trial, installed is started", &second, inventory.UpgradeTrial, base, become, "v0.0.2"},
		{"second on trial, the one before", &second, inventory.UpgradeTrial, in("v0.0.2"), beGuard, ""},
		{"second on trial, the one before, that a third guards", &second, inventory.UpgradeTrial, guarded("v0.0.2"), beGuard, ""},
		{"second on trial, guarded", &second, inventory.UpgradeTrial, guarded("v0.0.3"), beAgent, ""},
		{"second failed, installed is started", &second, inventory.UpgradeFailed, base, become, "v0.0.2"},
		{"second failed, the one before", &second, inventory.UpgradeFailed, in("v0.0.2"), beAgent, ""},
		{"second done, installed is started", &second, inventory.UpgradeDone, base, become, "v0.0.3"},
		{"second done, the one before", &second, inventory.UpgradeDone, in("v0.0.2"), become, "v0.0.3"},
	} {
		s := c.s
		if s != nil {
			set := *s
			set.Phase = c.phase
			s = &set
		}
		if what, folder := decide(s, c.me); what != c.what || folder != c.folder {
			t.Errorf("%s: want %d %q, got %d %q", c.name, c.what, c.folder, what, folder)
		}
	}
}

// TestState is what one version writes down and another reads.
func TestState(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if s, err := readState(dir); s != nil || err != nil {
		t.Errorf("nothing there: %v, %v", s, err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := state{
		Phase: inventory.UpgradeTrial, From: "v0.0.1", To: "v0.0.2", Installed: installed{Path: "/p", Bytes: 1, ModTime: at},
		Deadline: at.Add(time.Minute), Within: time.Minute, Most: 3, Since: at,
	}
	if err := s.write(dir); err != nil {
		t.Fatal(err)
	}
	const form = `{"phase":"trial","from":"v0.0.1","to":"v0.0.2","installed":{"path":"/p","bytes":1,"mod_time":"2026-01-02T03:04:05Z"},` +
		`"deadline":"2026-01-02T03:05:05Z","within":60000000000,"most":3,"since":"2026-01-02T03:04:05Z"}`
	if b, err := os.ReadFile(filepath.Join(dir, stateName)); string(b) != form {
		t.Errorf("versions before and after this one read it: want\n%s, got\n%s, %v", form, b, err)
	}
	for _, bad := range []string{"", "{", `{"to":"../../etc"}`, `{"to":"v0.0.2","back":"v0.0.2/../.."}`, `[]`} {
		if err := os.WriteFile(filepath.Join(dir, stateName), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := readState(dir); s != nil || err == nil {
			t.Errorf("%q: %v, %v", bad, s, err)
		}
	}
	if left := s.left(at.Add(-time.Hour)); left != time.Minute {
		t.Errorf("a clock that was set back gives a trial of %s", left)
	}
}
