package simengine_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/agent/engines/simengine"
)

func TestParseFlags(t *testing.T) {
	t.Setenv(simengine.KeyVariable, "from-env")
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	base := simengine.Config{Models: []string{"m"}, Root: "m", Addr: "127.0.0.1:8000", APIKey: "from-env"}
	with := func(change func(*simengine.Config)) simengine.Config {
		c := base
		change(&c)
		return c
	}
	cases := map[string]simengine.Config{
		"--model m": base,
		"--model /w/x --served-model-name a,b --served-model-name=c --host ::1 --port 0": with(func(c *simengine.Config) {
			c.Models, c.Root, c.Addr = []string{"a", "b", "c"}, "/w/x", "[::1]:0"
		}),
		"--model m --mode echo --enable-kvcache --kv-cache-size 9 --listen-late":                   with(func(c *simengine.Config) { c.Temper = simengine.Temper{KVBlocks: 9, ListenLate: true} }),
		"--model m --tensor-parallel-size 4 --enable-lora --lora-modules x=/p --lora-modules y=/q": with(func(c *simengine.Config) { c.Adapters = []string{"x", "y"} }),
		"--model m --time-to-first-token 5ms --max-num-seqs 9 --failure-injection-rate 5 --failure-types hang,cut --enable-prefix-caching=false --shutdown hang": with(func(c *simengine.Config) {
			c.Temper = simengine.Temper{
				TimeToFirstToken: simengine.Duration(5 * time.Millisecond), MaxNumSeqs: 9, FailureRate: 5,
				Failures: []simengine.Failure{simengine.FailHang, simengine.FailCut}, NoPrefixCache: true, Shutdown: simengine.ShutdownHang,
			}
		}),
		"--model m --api-key-file " + file("key", "from-file\n"): with(func(c *simengine.Config) { c.APIKey = "from-file" }),
		"--model m --say flag --served-model-name s --config " + file("temper.json", `{"say":"file","max_model_len":7,"startup_duration":"2s"}`): with(func(c *simengine.Config) {
			c.Models = []string{"s"}
			c.Temper = simengine.Temper{Say: "flag", MaxModelLen: 7, StartupDuration: simengine.Duration(2 * time.Second)}
		}),
	}
	for line, want := range cases {
		got, err := simengine.ParseFlags(strings.Fields(line))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", line, err, diff)
		}
	}
}

func TestParseFlagsRefuses(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.json")
	if err := os.WriteFile(bad, []byte(`{"says":"x"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{
		"":                                     "no model",
		"--model m extra":                      `"extra" is no flag`,
		"--model m --max-num-seqs -1":          "max_num_seqs is -1",
		"--model m --failure-types what":       "no way to fail",
		"--model m --failure-injection-rate x": "failure-injection-rate",
		"--model m --shutdown slowly":          "must be abort, drain or hang",
		"--model m --mode random":              "use --say",
		"--model m --api-key secret":           "api-key",
		"--model m --api-key-file /dev/null":   "holds no API key",
		"--model m --config " + bad:            "says",
		"--model m --served-model-name a,":     "empty name",
	}
	for line, want := range cases {
		_, err := simengine.ParseFlags(strings.Fields(line))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, want an error with %q", line, err, want)
		}
	}
	if _, err := simengine.ParseFlags([]string{"--help"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("--help gives %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	_, err := simengine.New(simengine.Config{Temper: simengine.Temper{FailureRate: 101, BlockSize: -1}})
	for _, want := range []string{"no model", "failure_injection_rate is 101", "block_size is -1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
}
