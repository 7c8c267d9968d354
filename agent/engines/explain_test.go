package engines_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"llmgw.io/llmgw/agent/engines"
	"llmgw.io/llmgw/agent/protocol"
)

// The script gives how a process ended and the last lines of its log; the answer
// is the cause and the sentence.
func TestExplain(t *testing.T) {
	t.Parallel()
	set := engines.New(engines.Config{})
	explain := map[string]func(protocol.Exit) protocol.Failure{"llamacpp": set.LlamaCPP.Explain, "vllm": set.VLLM.Explain, "sim": set.Sim.Explain}
	datadriven.RunTest(t, "testdata/explain", func(t *testing.T, d *datadriven.TestData) string {
		e := protocol.Exit{OOMKilled: d.HasArg("oom"), Asked: d.HasArg("asked"), Started: d.HasArg("started")}
		d.MaybeScanArgs(t, "exit", &e.Code)
		if d.MaybeScanArgs(t, "signal", &e.Signal) {
			e.Code = -1
		}
		if d.Input != "" {
			e.LastLines = strings.Split(d.Input, "\n")
		}
		f := explain[d.Cmd](e)
		return fmt.Sprintf("%s\n%s\n", f.Cause, f.Text)
	})
}
