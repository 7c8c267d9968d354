package ports

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/agent/protocol"
)

// shell is a program for what tools do.
func shell(t *testing.T) string {
	t.Helper()
	const sh = "/bin/sh"
	if _, err := os.Stat(sh); err != nil {
		t.Skip("there is no " + sh)
	}
	return sh
}

func TestToolsAreBounded(t *testing.T) {
	t.Parallel()
	sh := shell(t)
	for _, c := range []struct {
		name, script, out, err string
		most                   int
	}{
		{"all is well", "echo fine", "fine\n", "", 100},
		{"its last words", "echo part; echo one >&2; echo 'ibwarn: [4711] two' >&2; exit 255", "part\n", "sh: ibwarn: two", 100},
		{"no words", "exit 3", "", "exit status 3", 100},
		{"control characters", `printf 'a\033[31mb\n' >&2; exit 1`, "", "sh: a [31mb", 100},
		{"too much", "while echo 0123456789; do :; done", "0123456789\n012345678", "more than is read", 20},
		{"its environment", "echo $LC_ALL $MORE $HOME", "C more\n", "", 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := runner{env: []string{"MORE=more"}}
			out, err := r.output(t.Context(), time.Minute, c.most, sh, "-c", c.script)
			if string(out) != c.out {
				t.Errorf("want %q, got %q", c.out, out)
			}
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("want the reason %q, got %v", c.err, err)
			}
		})
	}
}

func TestAToolThatHangsIsEnded(t *testing.T) {
	t.Parallel()
	var r runner
	_, err := r.output(t.Context(), 100*time.Millisecond, 100, shell(t), "-c", "sleep 600")
	if err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("want it ended, got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.output(ctx, time.Minute, 100, shell(t), "-c", "sleep 600"); err == nil {
		t.Error("nobody waits for it and it goes on")
	}
}

func TestNoSecondBesideOneThatHangs(t *testing.T) {
	t.Parallel()
	sh := shell(t)
	var r runner
	r.busy = map[string]bool{sh + " -c true": true}
	if _, err := r.output(t.Context(), time.Minute, 100, sh, "-c", "true"); err == nil || !strings.Contains(err.Error(), "has not ended") {
		t.Errorf("want it refused, got %v", err)
	}
	if _, err := r.output(t.Context(), time.Minute, 100, sh, "-c", ":"); err != nil {
		t.Errorf("another question was refused: %v", err)
	}
}

func TestScan(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "ibnetdiscover", "a tool")
	world := merge(infiniband("ibp3", 1), ethernet("bnxt_re0", "ens1"))
	r := world.reader(t, func(c *Config) { c.Tools.IBNetDiscover = dir + "/ibnetdiscover" })
	if !r.CanScan() {
		t.Error("it says that it cannot")
	}
	begun, goOn := make(chan struct{}), make(chan struct{})
	answer := "#\nCa\t1\n"
	var fails error
	r.tool = func(_ context.Context, limit time.Duration, most int, _ string, args ...string) ([]byte, error) {
		if limit != protocol.ScanTime || most != protocol.MaxScan || strings.Join(args[:4], " ") != "-C ibp3 -P 1" {
			t.Errorf("%v %d %q", limit, most, args)
		}
		begun <- struct{}{}
		<-goOn
		return []byte(answer), fails
	}
	for _, bad := range []struct {
		args protocol.ScanArgs
		want string
	}{
		{protocol.ScanArgs{HCA: "ibp3", Port: 2}, "no port"},
		{protocol.ScanArgs{HCA: "--help", Port: 1}, "no port"},
		{protocol.ScanArgs{HCA: "../ibp3", Port: 1}, "no port"},
		{protocol.ScanArgs{HCA: "bnxt_re0", Port: 1}, "no InfiniBand"},
	} {
		if _, err := r.Scan(t.Context(), bad.args); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%v: want %q, got %v", bad.args, bad.want, err)
		}
	}
	good := protocol.ScanArgs{HCA: "ibp3", Port: 1}
	scan := func() (protocol.ScanResult, error) {
		done := make(chan struct{})
		var got protocol.ScanResult
		var err error
		go func() { defer close(done); got, err = r.Scan(t.Context(), good) }()
		<-begun
		if _, err := r.Scan(t.Context(), good); err == nil || !strings.Contains(err.Error(), "under way") {
			t.Errorf("a second walk beside the first: %v", err)
		}
		goOn <- struct{}{}
		<-done
		return got, err
	}
	if got, err := scan(); err != nil || got.Text != answer || got.Error != "" || got.By != "ibp3/1" {
		t.Errorf("%+v, %v", got, err)
	}
	fails = errors.New("ibnetdiscover: discover failed")
	if got, err := scan(); err != nil || got.Text != answer || got.Error != fails.Error() {
		t.Errorf("what was found until it failed is lost: %+v, %v", got, err)
	}
	none := tree{"sys/class/x": "y"}.reader(t, func(c *Config) { c.Tools.IBNetDiscover = dir + "/ibnetdiscover" })
	missing := world.reader(t, func(c *Config) { c.Tools.IBNetDiscover = dir + "/nothing" })
	if none.CanScan() || missing.CanScan() {
		t.Error("without an adapter, or without the tool, it says that it can")
	}
	if _, err := missing.Scan(t.Context(), good); err == nil || !strings.Contains(err.Error(), "infiniband-diags") {
		t.Errorf("want which package to install, got %v", err)
	}
}
