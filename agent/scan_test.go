package agent

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"llmgw.io/llmgw/agent/protocol"
)

// answers is a control plane that keeps what it is answered.
type answers struct {
	Control
	got []protocol.Answer
}

func (a *answers) Answer(_ context.Context, ans protocol.Answer, _ io.Reader) error {
	a.got = append(a.got, ans)
	return nil
}

type scanner struct {
	can bool
	err error
}

func (s *scanner) CanScan() bool { return s.can }

func (s *scanner) Scan(ctx context.Context, args protocol.ScanArgs) (protocol.ScanResult, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		return protocol.ScanResult{}, errors.New("the scan has no end")
	}
	return protocol.ScanResult{Text: "#\n", By: args.HCA}, s.err
}

func TestAScanIsAnsweredWhereItCanBe(t *testing.T) {
	t.Parallel()
	ask := protocol.Ask{ID: "a", Kind: protocol.AskScan, Args: json.RawMessage(`{"hca":"mlx5_0","port":1}`)}
	for _, c := range []struct {
		name    string
		scanner Scanner
		args    string
		want    string // of the refusal; empty: it is answered
	}{
		{"none", nil, "", "infiniband-diags"},
		{"no tool", &scanner{}, "", "infiniband-diags"},
		{"bad arguments", &scanner{can: true}, `{"port":"x"}`, "cannot be read"},
		{"bad port", &scanner{can: true, err: errors.New("mlx5_0 is no adapter here")}, "", "no adapter here"},
		{"answered", &scanner{can: true}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ask := ask
			if c.args != "" {
				ask.Args = json.RawMessage(c.args)
			}
			control := &answers{}
			a := &Agent{cfg: Config{Control: control, Scanner: c.scanner}.withDefaults()}
			a.answerOne(t.Context(), ask)
			if len(control.got) != 1 {
				t.Fatalf("want one answer, got %v", control.got)
			}
			got := control.got[0]
			if got.OK != (c.want == "") || !strings.Contains(got.Error, c.want) {
				t.Errorf("want a refusal with %q, got %+v", c.want, got)
			}
			var r protocol.ScanResult
			if got.OK && (json.Unmarshal(got.Result, &r) != nil || r.By != "mlx5_0" || r.Text != "#\n") {
				t.Errorf("the result is %s", got.Result)
			}
			listed := slices.Contains(a.features(), string(protocol.AskScan))
			if can := c.scanner != nil && c.scanner.CanScan(); listed != can {
				t.Errorf("the feature is listed: %v, want %v", listed, can)
			}
		})
	}
	if slices.Contains(protocol.Features, string(protocol.AskScan)) {
		t.Error("what one machine can do is said of all")
	}
}
