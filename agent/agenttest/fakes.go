package agenttest

import (
	"context"
	"io"

	"llmgw.io/llmgw/agent"
	"llmgw.io/llmgw/agent/hub"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// Prober is a fake agent.Prober. Nil functions say that the machine has four
// cores, 16 GiB of memory and plenty of disk.
type Prober struct {
	FactsFunc  func(context.Context) inventory.Facts
	SampleFunc func(context.Context) inventory.Sample
	UsedFunc   func(context.Context) (map[int]int64, error)
}

var (
	_ agent.Prober       = (*Prober)(nil)
	_ agent.DeviceMemory = (*Prober)(nil)
)

// Used is agent.DeviceMemory's. Without a function nothing is said of any device.
func (p *Prober) Used(ctx context.Context) (map[int]int64, error) {
	if p.UsedFunc != nil {
		return p.UsedFunc(ctx)
	}
	return nil, nil
}

// Facts is agent.Prober's.
func (p *Prober) Facts(ctx context.Context) inventory.Facts {
	if p.FactsFunc != nil {
		return p.FactsFunc(ctx)
	}
	return DefaultFacts()
}

// Sample is agent.Prober's.
func (p *Prober) Sample(ctx context.Context) inventory.Sample {
	if p.SampleFunc != nil {
		return p.SampleFunc(ctx)
	}
	return inventory.Sample{CPUPercent: 1, MemoryTotalBytes: 16 << 30}
}

// DefaultFacts are of a small machine without devices, at a loopback address,
// with the engine "sim" installed.
func DefaultFacts() inventory.Facts {
	return inventory.Facts{
		Hostname: "fake", MgmtAddr: "127.0.0.1", OS: "linux", Arch: "amd64", BootID: "boot-1",
		MemoryMB: 16 << 10, CPUs: 4, DiskFreeMB: 500 << 10, DiskTotalMB: 1000 << 10,
		Engines:  []inventory.Engine{{Name: string(catalog.EngineSim), Version: "1"}},
		Features: protocol.Features,
	}
}

// Engine is a fake agent.Engine. Nil functions behave like an engine that is
// installed, ready at once and idle; its command does nothing for a long time.
type Engine struct {
	// EngineName is what profiles call it. Empty: "sim".
	EngineName    catalog.Engine
	InstalledFunc func(context.Context) []inventory.Engine
	CommandFunc   func(protocol.DesiredShard, protocol.Launch) (protocol.Command, error)
	ReadyFunc     func(context.Context, protocol.Endpoint) error
	UseFunc       func(context.Context, protocol.Endpoint) (protocol.Use, error)
	ExplainFunc   func(protocol.Exit) protocol.Failure
}

var _ agent.Engine = (*Engine)(nil)

// Name is agent.Engine's.
func (e *Engine) Name() catalog.Engine {
	if e.EngineName != "" {
		return e.EngineName
	}
	return catalog.EngineSim
}

// Installed is agent.Engine's.
func (e *Engine) Installed(ctx context.Context) []inventory.Engine {
	if e.InstalledFunc != nil {
		return e.InstalledFunc(ctx)
	}
	return []inventory.Engine{{Name: string(e.Name()), Version: "1"}}
}

// Command is agent.Engine's.
func (e *Engine) Command(s protocol.DesiredShard, at protocol.Launch) (protocol.Command, error) {
	if e.CommandFunc != nil {
		return e.CommandFunc(s, at)
	}
	return protocol.Command{Path: "/bin/sleep", Args: []string{"1000000"}}, nil
}

// Ready is agent.Health's.
func (e *Engine) Ready(ctx context.Context, at protocol.Endpoint) error {
	if e.ReadyFunc != nil {
		return e.ReadyFunc(ctx, at)
	}
	return nil
}

// Use is agent.Health's.
func (e *Engine) Use(ctx context.Context, at protocol.Endpoint) (protocol.Use, error) {
	if e.UseFunc != nil {
		return e.UseFunc(ctx, at)
	}
	return protocol.Use{}, nil
}

// Explain is agent.Engine's.
func (e *Engine) Explain(x protocol.Exit) protocol.Failure {
	if e.ExplainFunc != nil {
		return e.ExplainFunc(x)
	}
	if x.OOMKilled {
		return protocol.Failure{Cause: protocol.CauseMemory, Text: "the engine was killed for memory"}
	}
	return protocol.Failure{Cause: protocol.CauseExited, Text: "the engine ended"}
}

// Control is a fake agent.Control. Nil functions answer a beat with nothing to
// want, and hold a poll until its context ends.
type Control struct {
	BeatFunc   func(context.Context, protocol.Beat) (protocol.BeatAnswer, error)
	SyncFunc   func(context.Context, protocol.Sync) (protocol.Desired, error)
	RenewFunc  func(context.Context, protocol.Renew) (protocol.Certificate, error)
	AnswerFunc func(context.Context, protocol.Answer, io.Reader) error
	// GateIdentityFunc gives the file of a certificate for gates. Nil: there is none.
	GateIdentityFunc func(context.Context) (string, error)
}

var (
	_ agent.Control      = (*Control)(nil)
	_ agent.GateIdentity = (*Control)(nil)
)

// GateIdentity is agent.GateIdentity's.
func (c *Control) GateIdentity(ctx context.Context) (string, error) {
	if c.GateIdentityFunc != nil {
		return c.GateIdentityFunc(ctx)
	}
	return "", &protocol.Error{Code: protocol.CodeInternal, Text: "this fake certifies no gate"}
}

// Beat is agent.Control's.
func (c *Control) Beat(ctx context.Context, b protocol.Beat) (protocol.BeatAnswer, error) {
	if c.BeatFunc != nil {
		return c.BeatFunc(ctx, b)
	}
	return protocol.BeatAnswer{SeenSeq: b.Seq}, nil
}

// Sync is agent.Control's.
func (c *Control) Sync(ctx context.Context, s protocol.Sync) (protocol.Desired, error) {
	if c.SyncFunc != nil {
		return c.SyncFunc(ctx, s)
	}
	<-ctx.Done()
	return protocol.Desired{}, ctx.Err()
}

// Renew is agent.Control's.
func (c *Control) Renew(ctx context.Context, r protocol.Renew) (protocol.Certificate, error) {
	if c.RenewFunc != nil {
		return c.RenewFunc(ctx, r)
	}
	return protocol.Certificate{}, &protocol.Error{Code: protocol.CodeInternal, Text: "this fake renews nothing"}
}

// Answer is agent.Control's.
func (c *Control) Answer(ctx context.Context, a protocol.Answer, stream io.Reader) error {
	if c.AnswerFunc != nil {
		return c.AnswerFunc(ctx, a, stream)
	}
	if stream != nil {
		_, err := io.Copy(io.Discard, stream)
		return err
	}
	return nil
}

// Direct is an agent.Control that calls a hub within this process, as a node
// that needs no certificate. It renews nothing.
func Direct(h *hub.Hub, node inventory.NodeID) agent.Control {
	return &Control{
		BeatFunc: func(ctx context.Context, b protocol.Beat) (protocol.BeatAnswer, error) { return h.Beat(ctx, node, b) },
		SyncFunc: func(ctx context.Context, s protocol.Sync) (protocol.Desired, error) { return h.Sync(ctx, node, s) },
		AnswerFunc: func(ctx context.Context, a protocol.Answer, r io.Reader) error {
			return h.Answer(ctx, node, a, r)
		},
	}
}
