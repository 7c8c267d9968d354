package agent

import (
	"context"
	"io"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// Prober finds facts about this machine. Both methods may block, are called one
// at a time, and degrade fact by fact: what cannot be found is left out, with a
// warning in the facts, and is no error.
type Prober interface {
	Facts(ctx context.Context) inventory.Facts
	Sample(ctx context.Context) inventory.Sample
}

// Scanner walks the InfiniBand fabrics that this machine is on.
type Scanner interface {
	// CanScan reports whether Scan can work here; where it cannot, nobody is told
	// that this agent may be asked.
	CanScan() bool
	// Scan walks the fabric that a port is on, for as long as protocol.ScanTime at
	// most. A walk that failed is a result with an Error; an error is a sentence
	// about what is wrong with the question.
	Scan(ctx context.Context, args protocol.ScanArgs) (protocol.ScanResult, error)
}

// DeviceMemory is an optional ability of a Prober that reads anew what of each
// device's memory is in use. It is called like the Prober's other methods.
type DeviceMemory interface {
	// Used is in MiB, by the device's index, whoever uses it. A device that is not
	// there did not say, and nobody waits for it; nor for an error.
	Used(ctx context.Context) (map[int]int64, error)
}

// Engine knows how one engine is started, asked and understood. Methods may be
// called at once from many goroutines.
type Engine interface {
	// Name is the engine's name in profiles.
	Name() catalog.Engine
	// Installed lists the builds on this machine. None is no error.
	Installed(ctx context.Context) []inventory.Engine
	// Command is pure: argv, environment and files for a shard. Its errors are
	// sentences about what is wrong with the definition.
	Command(s protocol.DesiredShard, at protocol.Launch) (protocol.Command, error)
	// Health asks a started engine how it is.
	Health
	// Explain turns the end of a process into a cause and a sentence. Pure.
	Explain(e protocol.Exit) protocol.Failure
}

// Health asks one started engine.
type Health interface {
	// Ready answers nil when the engine at e is ours (it wants our key and
	// refuses another), serves the model under its name, and has generated a
	// token. An error that matches protocol.ErrForeign means that somebody else
	// listens there; any other that it is not ready yet.
	Ready(ctx context.Context, e protocol.Endpoint) error
	// Use asks for the load.
	Use(ctx context.Context, e protocol.Endpoint) (protocol.Use, error)
}

// Progress is an optional ability of an Engine that counts what it generates. It
// is what tells an engine that is busy from one that hangs.
type Progress interface {
	// Generated is how many tokens the engine has generated since it started.
	Generated(ctx context.Context, e protocol.Endpoint) (int64, error)
}

// Adapters is an optional ability of an Engine that takes adapters while it runs.
// Both methods are safe to repeat: what is loaded already, or is not there, is no
// error.
type Adapters interface {
	// Load loads an adapter that is on disk. Its errors are sentences for people.
	Load(ctx context.Context, e protocol.Endpoint, a protocol.NamedFile) error
	// Unload takes one out. Requests that use it may fail.
	Unload(ctx context.Context, e protocol.Endpoint, name string) error
}

// Provisioner installs the builds of engines that a node is to have. Want, Found
// and Status do not block; Run works until ctx ends. *provision.Installer is one.
type Provisioner interface {
	// Want says which builds are wanted, by engine: auto, none or a build.
	Want(choices map[string]string)
	// Found says what the node is.
	Found(f inventory.Facts)
	// Status lists what is wanted, under way or failed. Never nil.
	Status() []inventory.EngineInstall
	// Programs lists the proved builds of an engine, the one for new shards first.
	Programs(engine string) []protocol.Program
	Run(ctx context.Context) error
}

// Upgrader makes the agent another version of itself. Status does not block.
// *upgrade.Upgrader is one.
type Upgrader interface {
	// Upgrade brings a version, proves it, and puts it in place. Nil: it is to take
	// over, so Run ends with upgrade.ErrTaken. An error is a sentence for people.
	Upgrade(ctx context.Context, version string) error
	// Healthy is called once the control plane has answered a beat and has this
	// agent's facts, and again after an error.
	Healthy() error
	// Status is how the last upgrade goes or went. Nil: there was none.
	Status() *inventory.Upgrade
}

// GateIdentity is an optional ability of a Control: it certifies this machine's
// gates. Without it there are none.
type GateIdentity interface {
	// GateIdentity gives the absolute path of a file with a certificate for gates
	// that is good now; see gate.Config. It may block, and be called at once.
	GateIdentity(ctx context.Context) (path string, err error)
}

// Control is the control plane as the agent sees it. Methods block until they
// are answered or ctx ends. Refusals are *protocol.Error.
type Control interface {
	Beat(ctx context.Context, b protocol.Beat) (protocol.BeatAnswer, error)
	Sync(ctx context.Context, s protocol.Sync) (protocol.Desired, error)
	Renew(ctx context.Context, r protocol.Renew) (protocol.Certificate, error)
	// Answer answers an ask; stream is nil unless the answer is one, and is
	// read until it ends.
	Answer(ctx context.Context, a protocol.Answer, stream io.Reader) error
}
