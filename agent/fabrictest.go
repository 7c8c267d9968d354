package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"llmgw.io/llmgw/agent/protocol"
)

// answerFabricTest is one end of a test. The end that listens answers first, so
// that the other can be asked to dial, and serves until the ask's deadline at the
// latest.
func (a *Agent) answerFabricTest(ctx context.Context, ask protocol.Ask) {
	var args protocol.FabricTestArgs
	if !a.arguments(ctx, ask, &args) {
		return
	}
	switch args.Role {
	case protocol.FabricTestListen:
		end, err := a.tester.Listen(args)
		if err != nil {
			a.refuse(ctx, ask, err.Error())
			return
		}
		defer end.Close()
		a.report(ctx, ask, end.Report())
		if err := end.Serve(ctx); err != nil {
			a.cfg.Logger.Info("a fabric test ended early", "err", err)
		}
	case protocol.FabricTestDial:
		report, err := a.tester.Dial(ctx, args)
		if err != nil {
			a.refuse(ctx, ask, err.Error())
			return
		}
		a.report(ctx, ask, report)
	default:
		a.refuse(ctx, ask, fmt.Sprintf("this agent does not know the end %q of a fabric test; upgrade it", clip(string(args.Role))))
	}
}

// report answers with one value.
func (a *Agent) report(ctx context.Context, ask protocol.Ask, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		a.refuse(ctx, ask, "the answer cannot be sent: "+err.Error())
		return
	}
	a.send(ctx, protocol.Answer{ID: ask.ID, OK: true, Result: data}, nil)
}
