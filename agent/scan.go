package agent

import (
	"context"
	"encoding/json"
	"slices"

	"llmgw.io/llmgw/agent/protocol"
)

// features are the asks that this agent understands on this machine.
func (a *Agent) features() []string {
	f := slices.Clone(protocol.Features)
	if a.cfg.Scanner != nil && a.cfg.Scanner.CanScan() {
		f = append(f, string(protocol.AskScan))
	}
	if a.cfg.Upgrader != nil {
		f = append(f, string(protocol.AskUpgrade))
	}
	if a.tester.IBWrite() {
		f = append(f, protocol.FeatureIBWrite)
	}
	return f
}

// answerScan has a fabric walked, for as long as the ask may take.
func (a *Agent) answerScan(ctx context.Context, ask protocol.Ask) {
	var args protocol.ScanArgs
	if !a.arguments(ctx, ask, &args) {
		return
	}
	if a.cfg.Scanner == nil || !a.cfg.Scanner.CanScan() {
		a.refuse(ctx, ask, "this node cannot scan a fabric; install the package infiniband-diags")
		return
	}
	bounded, cancel := context.WithTimeout(ctx, protocol.ScanTime)
	defer cancel()
	result, err := a.cfg.Scanner.Scan(bounded, args)
	if err != nil {
		a.refuse(ctx, ask, err.Error())
		return
	}
	data, err := json.Marshal(result)
	if err != nil {
		a.refuse(ctx, ask, "the map cannot be sent: "+err.Error())
		return
	}
	a.send(ctx, protocol.Answer{ID: ask.ID, OK: true, Result: data}, nil)
}
