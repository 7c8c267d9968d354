package agent

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"llmgw.io/llmgw/agent/protocol"
)

// told hands on what an agent answers, as it comes.
type told struct {
	Control
	got chan protocol.Answer
}

func (c *told) Answer(ctx context.Context, ans protocol.Answer, _ io.Reader) error {
	select {
	case c.got <- ans:
	case <-ctx.Done():
	}
	return nil
}

func TestTwoAgentsTestTheNetworkBetweenThem(t *testing.T) {
	t.Parallel()
	control := &told{got: make(chan protocol.Answer)}
	end := func() *Agent { return &Agent{cfg: Config{Control: control}.withDefaults()} }
	to, from := end(), end()
	ask := func(a *Agent, args protocol.FabricTestArgs) (r protocol.FabricTestReport, over chan struct{}) {
		t.Helper()
		data, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		over = make(chan struct{})
		go func() {
			defer close(over)
			a.answerOne(t.Context(), protocol.Ask{ID: "a", Kind: protocol.AskFabricTest, Args: data})
		}()
		ans := <-control.got
		if !ans.OK || json.Unmarshal(ans.Result, &r) != nil {
			t.Fatalf("got %+v", ans)
		}
		return r, over
	}
	args := protocol.FabricTestArgs{Role: protocol.FabricTestListen, Secret: "only for this one test", Address: "127.0.0.1", Streams: 1, Seconds: 1}
	at, listened := ask(to, args)
	args.Role, args.Address, args.Port = protocol.FabricTestDial, at.Address, at.Port
	r, dialled := ask(from, args)
	if r.Bytes == 0 || r.TookUS == 0 || r.P50US == 0 {
		t.Errorf("nothing was measured: %+v", r)
	}
	<-dialled
	<-listened // by itself, once all is sent
	if !slices.Contains(from.features(), string(protocol.AskFabricTest)) {
		t.Error("the agent does not say that it can")
	}
}

func TestAFabricTestThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`{"role":"both"}`:   "both",
		`{"role":"listen"}`: "secret",
		`{"role":"dial"}`:   "secret",
		`{"role":7}`:        "cannot be read",
	} {
		control := &answers{}
		a := &Agent{cfg: Config{Control: control}.withDefaults()}
		a.answerOne(t.Context(), protocol.Ask{ID: "a", Kind: protocol.AskFabricTest, Args: json.RawMessage(args)})
		if len(control.got) != 1 || control.got[0].OK || !strings.Contains(control.got[0].Error, want) {
			t.Errorf("%s: want a refusal with %q, got %+v", args, want, control.got)
		}
	}
}
