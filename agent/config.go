package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"llmgw.io/llmgw/agent/fetch"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// Where engines may listen.
const (
	// AccessLoopback keeps engines on 127.0.0.1. Routers on other machines reach them
	// through gates.
	AccessLoopback = "loopback"
	// AccessDirect lets engines listen on the management address. It is for
	// fenced networks: an engine's own key protects only parts of it.
	AccessDirect = "direct"
)

// How engines may be isolated.
const (
	// IsolationRequired refuses to run an agent that cannot give engines users of
	// their own.
	IsolationRequired = "required"
	// IsolationNone runs engines as the agent's own user.
	IsolationNone = "none"
)

// Config is what an Agent needs.
type Config struct {
	// Node is the id this machine joined under. Required.
	Node inventory.NodeID
	// Control is the control plane. Required. One that also has a method
	// Run(context.Context) error, as *uplink.Client has, is run beside the agent.
	Control Control
	// Prober finds facts about this machine. Required.
	Prober Prober
	// Scanner walks fabrics. Nil: this agent cannot be asked to.
	Scanner Scanner
	// Engines are those this agent can start; at least one is required.
	Engines []Engine
	// Provisioner installs engines. Nil: what is installed is what there is. It is run
	// beside the agent, and calls Agent.Look when something has changed.
	Provisioner Provisioner
	// Upgrader makes the agent another version. Nil: this agent cannot be asked to.
	Upgrader Upgrader
	// DataDir is an absolute folder for what the agent must remember. Required.
	// Engines that run are known by it: keep it over restarts and upgrades.
	DataDir string
	// WeightsDirs are absolute folders of weights; fetched ones go to the first.
	// Empty: the folder weights in DataDir.
	WeightsDirs []string
	// LowWaterBytes is how much room on the disk of weights fetching leaves free.
	// Zero: 10 % of the disk or 50 GiB, the smaller.
	LowWaterBytes int64
	// MgmtAddr is this machine's address as routers reach it, without a port. A
	// loopback address says that the control plane is on this machine. Empty:
	// what the Prober says; if that is empty as well, 127.0.0.1.
	MgmtAddr string
	// EngineAccess is AccessLoopback or AccessDirect. Empty: AccessLoopback.
	EngineAccess string
	// PortMin and PortMax bound the engines' ports. Zero: 20000 and 29999.
	PortMin, PortMax int
	// Gate is the program that stands before an engine, with its first arguments; it
	// gets the gate's folder as the last one and calls gate.Main with that. Empty:
	// there are no gates, and shards fail where routers are on other machines.
	Gate []string
	// GatePortMin and GatePortMax bound the gates' ports. Zero: 19000 and 19999.
	GatePortMin, GatePortMax int
	// Labels are added to those the Prober finds, and win.
	Labels map[string]string
	// Version is the agent's own, for its facts. May be empty.
	Version string
	// LogFile is where the agent's own log is kept, so that it can be asked for.
	// Empty: it is not kept in a file, and asking for it is refused.
	LogFile string
	// HTTP fetches weights. Nil: a client that reaches public addresses over
	// https, and beyond them what Reach allows.
	HTTP *http.Client
	// Reach is what fetching may reach beyond public addresses over https.
	Reach fetch.Reach
	// Hub is where hf:// sources are found. Its zero value has none.
	Hub fetch.Hub
	// Mirror is the address of a server of files by their hash, which is asked
	// before every other source. Empty: there is none.
	Mirror string
	// CgroupParent is where each shard gets its own cgroup: a folder of cgroup v2,
	// or one for each controller of v1 with colons between them. Empty: the agent's
	// own cgroup where that is delegated to it. "none": no cgroups; trees of
	// processes are then found by user, session and environment.
	CgroupParent string
	// Isolation is how engines are kept from each other and from the agent. Empty:
	// as far as this machine lets them be, and the facts warn of what it does not.
	Isolation string
	// UserMin and UserMax bound the numbers of engines' users, where the agent is
	// root; UserMin itself is the number of the group that they all are in. Zero:
	// 64000 and 64999. Two agents on one machine need ranges of their own.
	UserMin, UserMax int
	// StopEngines stops the engines when Run ends, as a system that lives and
	// dies with its agent wants it. False: they go on, and are adopted.
	StopEngines bool
	// Logger nil is silent.
	Logger *slog.Logger
	// Times are for tests. The zero value has the documented ones.
	Times Times
}

// Times are spans that tests shorten. Zero means the default.
type Times struct {
	Beat    time.Duration // 5 s
	Sample  time.Duration // 15 s
	Facts   time.Duration // 60 s
	Request time.Duration // 10 s for a beat; a poll gets 25 s more
	// Away is the silence after which the control plane counts as away: 15 s.
	Away time.Duration
	// Retry is the first back-off, doubled up to RetryMax: 5 s, 5 min.
	Retry, RetryMax time.Duration
	// Ready is between two questions to an engine that starts: 500 ms.
	Ready time.Duration
	// Probe is between two questions to an engine that runs, of which one may
	// take three quarters: 30 s.
	Probe time.Duration
	// Use is between two looks at an engine's load: 5 s.
	Use time.Duration
	// TermAgain and Kill are after the first TERM: 3 s, 10 s.
	TermAgain, Kill time.Duration
	// Stall is how long a download may bring no byte: 30 s.
	Stall time.Duration
	// FetchRetry is the first back-off of a download, up to a minute: 1 s.
	FetchRetry time.Duration
	// DiskRetry is when a full disk is looked at again: 30 s.
	DiskRetry time.Duration
	// DeviceFree is how long a start waits for memory of its devices that nobody
	// should have any more: 60 s.
	DeviceFree time.Duration
	// Look is between two looks at a log or at a process that was adopted: 500 ms.
	Look time.Duration
}

func (t Times) withDefaults() Times {
	for _, d := range []struct {
		at  *time.Duration
		def time.Duration
	}{
		{&t.Beat, protocol.BeatEvery},
		{&t.Sample, protocol.SampleEvery},
		{&t.Facts, protocol.FactsEvery},
		{&t.Request, 10 * time.Second},
		{&t.Away, 15 * time.Second},
		{&t.Retry, 5 * time.Second},
		{&t.RetryMax, 5 * time.Minute},
		{&t.Ready, 500 * time.Millisecond},
		{&t.Probe, 30 * time.Second},
		{&t.Use, 5 * time.Second},
		{&t.TermAgain, 3 * time.Second},
		{&t.Kill, 10 * time.Second},
		{&t.DiskRetry, 30 * time.Second},
		{&t.DeviceFree, time.Minute},
		{&t.Look, 500 * time.Millisecond},
	} {
		if *d.at == 0 {
			*d.at = d.def
		}
	}
	return t
}

func (c *Config) check() error {
	var errs []error
	miss := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("agent: "+format, args...))
		}
	}
	miss(c.Node == "", "Config.Node is missing; join the cluster first")
	miss(c.Control == nil, "Config.Control is missing")
	miss(c.Prober == nil, "Config.Prober is missing")
	miss(len(c.Engines) == 0, "Config.Engines is empty; name at least one engine")
	miss(!filepath.IsAbs(c.DataDir), "Config.DataDir %q must be an absolute folder", c.DataDir)
	for _, d := range c.WeightsDirs {
		miss(!filepath.IsAbs(d), "Config.WeightsDirs: %q must be an absolute folder", d)
	}
	miss(c.EngineAccess != "" && c.EngineAccess != AccessLoopback && c.EngineAccess != AccessDirect,
		"Config.EngineAccess %q must be %q or %q", c.EngineAccess, AccessLoopback, AccessDirect)
	miss(c.MgmtAddr != "" && net.ParseIP(c.MgmtAddr) == nil, "Config.MgmtAddr %q must be an IP address", c.MgmtAddr)
	miss(c.PortMin < 0 || c.PortMax > 65535 || c.PortMin > c.PortMax, "the ports %d to %d are no range", c.PortMin, c.PortMax)
	miss(c.Isolation != "" && c.Isolation != IsolationRequired && c.Isolation != IsolationNone,
		"Config.Isolation %q must be empty, %q or %q", c.Isolation, IsolationRequired, IsolationNone)
	miss(c.UserMin < 1 || c.UserMax > 1<<31-2 || c.UserMin >= c.UserMax, "the users %d to %d are no range", c.UserMin, c.UserMax)
	miss(c.GatePortMin < 0 || c.GatePortMax > 65535 || c.GatePortMin > c.GatePortMax, "the gates' ports %d to %d are no range", c.GatePortMin, c.GatePortMax)
	miss(len(c.Gate) > 0 && !filepath.IsAbs(c.Gate[0]), "Config.Gate %q must be an absolute path", c.Gate)
	seen := map[catalog.Engine]bool{}
	for _, e := range c.Engines {
		if e == nil {
			miss(true, "Config.Engines holds a nil engine")
			continue
		}
		miss(seen[e.Name()], "Config.Engines names %q twice", e.Name())
		seen[e.Name()] = true
	}
	return errors.Join(errs...)
}

// withDefaults is called before check: a zero range of ports is no error.
func (c Config) withDefaults() Config {
	if c.PortMin == 0 && c.PortMax == 0 {
		c.PortMin, c.PortMax = 20000, 29999
	}
	if c.UserMin == 0 && c.UserMax == 0 {
		c.UserMin, c.UserMax = 64000, 64999
	}
	if c.GatePortMin == 0 && c.GatePortMax == 0 {
		c.GatePortMin, c.GatePortMax = 19000, 19999
	}
	if c.EngineAccess == "" {
		c.EngineAccess = AccessLoopback
	}
	if len(c.WeightsDirs) == 0 && c.DataDir != "" {
		c.WeightsDirs = []string{filepath.Join(c.DataDir, "weights")}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Times = c.Times.withDefaults()
	return c
}

// DefaultDataDir is where an agent keeps its things when nothing is said: beside
// the control plane's, so that both may run on one machine.
func DefaultDataDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/llmgw-agent"
	}
	if dir := os.Getenv("XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, "llmgw-agent")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = os.TempDir()
	}
	return filepath.Join(home, ".local", "state", "llmgw-agent")
}
