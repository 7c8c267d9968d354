package simcmd_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw/cmd/llmgw-control/simcmd"
)

const scenario = `fleet
a1 gpu=2xL4-24
models
model chat min=1 gpu=1
trace
10m crash a1 for=30s
`

// sim runs the command and answers what it wrote and the code it would exit with.
func sim(t *testing.T, args ...string) (out string, code int, said string) {
	t.Helper()
	var b bytes.Buffer
	app := &cli.Command{Name: "app", Writer: &b, Commands: []*cli.Command{simcmd.Command()}}
	err := app.Run(t.Context(), append([]string{"app", "sim"}, args...))
	if err == nil {
		return b.String(), 0, ""
	}
	var exit interface {
		error
		Exit() int
	}
	if !errors.As(err, &exit) {
		t.Fatalf("%v says no code", err)
	}
	return b.String(), exit.Exit(), err.Error()
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fleet.txt")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSim runs a scenario with a journal, and decides the journal again.
func TestSim(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "journal")
	file := write(t, scenario)
	out, code, said := sim(t, "--for", "30m", "--journal", dir, file)
	if code != 0 || !strings.Contains(out, "0 violations") || !strings.Contains(out, "chat") {
		t.Errorf("exit %d: %s\n%s", code, said, out)
	}
	if again, _, _ := sim(t, "--for", "30m", file); again != out {
		t.Errorf("the same seed gives another report:\n%s\n%s", out, again)
	}
	if out, code, said := sim(t, "--replay", dir); code != 0 || !strings.Contains(out, " 0 passes differ") || strings.Contains(out, " 0 decisions") {
		t.Errorf("exit %d: %s\n%s", code, said, out)
	}
}

// TestBadInput says where it is wrong and what to do, and exits with 2.
func TestBadInput(t *testing.T) {
	t.Parallel()
	wrong := write(t, strings.Replace(scenario, "crash a1", "crash a2", 1)+"20m explode\n")
	file := write(t, scenario)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{wrong}, wrong + `:7: "explode" is nothing that can happen`},
		{[]string{write(t, strings.Replace(scenario, "crash a1", "crash a2", 1))}, `:6: crash: no node is or stands in "a2"`},
		{nil, "sim wants one file"},
		{[]string{file, file}, "sim wants one file"},
		{[]string{filepath.Join(t.TempDir(), "none")}, "cannot be read"},
		{[]string{"--for", "-1s", file}, "--for is below zero"},
		{[]string{"--journal", file, file}, "the journal cannot be written"},
		{[]string{"--replay", filepath.Join(t.TempDir(), "none")}, "replay a journal"},
		{[]string{"--replay", t.TempDir(), file}, "leave " + file + " out"},
	} {
		if out, code, said := sim(t, c.args...); code != 2 || !strings.Contains(said, c.want) || out != "" {
			t.Errorf("%v: exit %d: %s\n%s\nwant %q", c.args, code, said, out, c.want)
		}
	}
}
