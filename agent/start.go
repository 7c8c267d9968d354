package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"llmgw.io/llmgw/agent/fetch"
	"llmgw.io/llmgw/agent/logs"
	"llmgw.io/llmgw/agent/process"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/internal/durable"
	"llmgw.io/llmgw/inventory"
)

// bringUp takes a shard from nothing to a started process: access, build,
// weights, port, command, start. Nothing is started before all that can be
// known to be wrong has been looked at, the cheap things first.
func (s *shard) bringUp(ctx context.Context) error {
	ctx, cancel := s.running(ctx)
	defer cancel()
	d, _, _ := s.wish()
	s.say(inventory.ShardPending, nil)
	where, err := s.a.hosts(ctx, d)
	if err != nil {
		return err
	}
	engine, program, err := s.a.pick(ctx, d)
	if err != nil {
		return err
	}
	at := protocol.Launch{Host: where.engine, Build: program.Build, Program: program.Path}
	if err := s.fetch(ctx, d, &at); err != nil {
		return err
	}
	if err := s.claimDevices(ctx, d); err != nil {
		return err
	}
	if err := s.awaitMemory(ctx, d); err != nil {
		return err
	}
	e, err := s.a.reserve(d, where, s.a.marks+rand.Text(), s.a.marks+rand.Text())
	if err != nil {
		return err
	}
	at.Port, at.Dir = e.Port, s.workDir(e.UID)
	if err := s.a.prepare(ctx, d, &at); err != nil {
		return err
	}
	cmd, err := engine.Command(d, at)
	if err != nil {
		return failed(protocol.CauseRejected, err.Error())
	}
	if e.UID != 0 && len(d.Devices) > 0 {
		s.a.makeCUDAFiles(ctx)
	}
	if err := s.prepare(cmd, at, s.a.userOf(e)); err != nil {
		return err
	}
	return s.start(ctx, cmd, e)
}

// hosts are the addresses of a shard's engine and of the gate before it. Gate is
// empty where there is none.
type hosts struct{ engine, gate string }

// hosts says where a shard listens. An engine on loopback is of no use to a router
// elsewhere, so where no gate can stand before it that is refused rather than
// started. Shards that follow a leader are asked by nobody.
func (a *Agent) hosts(ctx context.Context, d protocol.DesiredShard) (hosts, error) {
	mgmt := a.mgmtAddr(ctx)
	ip := net.ParseIP(mgmt)
	remote := ip != nil && !ip.IsLoopback()
	switch {
	case !remote:
	case a.cfg.EngineAccess == AccessDirect:
		return hosts{engine: mgmt}, nil
	case d.Rank > 0:
	case len(a.cfg.Gate) == 0:
		return hosts{}, failed(protocol.CauseAccess, fmt.Sprintf("engines of this node listen on 127.0.0.1, which no router at another address than %s reaches, and this agent has no gates; set engine_access: direct in the agent's configuration if the network is fenced", mgmt))
	default:
		_, err := a.certified(ctx)
		return hosts{engine: "127.0.0.1", gate: mgmt}, err
	}
	return hosts{engine: "127.0.0.1"}, nil
}

// pick finds the engine and the build that a shard wants: one that was installed
// for this node before one that was found on it.
func (a *Agent) pick(ctx context.Context, d protocol.DesiredShard) (Engine, protocol.Program, error) {
	e := a.engines[d.Engine]
	if e == nil {
		return nil, protocol.Program{}, failed(protocol.CauseEngine, fmt.Sprintf("this agent knows no engine %q; it knows %s", clip(string(d.Engine)), a.engineNames()))
	}
	builds := a.provisioned(d.Engine)
	for _, b := range e.Installed(ctx) {
		builds = append(builds, protocol.Program{Build: b})
	}
	for _, b := range builds {
		if d.Build == "" || b.Build.Build == d.Build {
			return e, b, nil
		}
	}
	if d.Build != "" && len(builds) > 0 {
		return nil, protocol.Program{}, failed(protocol.CauseEngine, fmt.Sprintf("build %q of %s is not installed on this node; install it, or leave the build out of the profile", clip(d.Build), d.Engine))
	}
	return nil, protocol.Program{}, failed(protocol.CauseEngine, fmt.Sprintf("%s is not installed on this node; install it, or keep the model away by labels", d.Engine))
}

// provisioned are the builds of an engine that were installed for this node.
func (a *Agent) provisioned(e catalog.Engine) []protocol.Program {
	if a.cfg.Provisioner == nil {
		return nil
	}
	return a.cfg.Provisioner.Programs(string(e))
}

func (a *Agent) engineNames() string {
	var names []string
	for _, e := range a.cfg.Engines {
		names = append(names, string(e.Name()))
	}
	return strings.Join(names, ", ")
}

// fetch brings weights and adapters, reporting progress.
func (s *shard) fetch(ctx context.Context, d protocol.DesiredShard, at *protocol.Launch) error {
	told := func(p inventory.Fetch, trouble string) {
		s.say(inventory.ShardFetching, func(st *inventory.ShardStatus) { st.Fetch, st.Error = &p, trouble })
	}
	set, err := fetch.Weights(d)
	if err != nil {
		return fetchFailure(err)
	}
	if at.Weights, err = s.a.fetcher.Get(ctx, set, told); err != nil {
		return fetchFailure(err)
	}
	for _, ad := range d.Adapters {
		path, err := s.fetchAdapter(ctx, d.Engine, ad, told)
		if err != nil {
			return fetchFailure(err)
		}
		if len(at.Weights) > 0 && d.Engine != catalog.EngineSim {
			if err := fetch.SameArchitecture(at.Weights[0], path); err != nil {
				return fetchFailure(err)
			}
		}
		at.Adapters = append(at.Adapters, protocol.NamedFile{Name: ad.Name, Path: path})
	}
	s.keepUsed(at)
	return nil
}

// start starts the engine's process and keeps which it is. The mark was kept
// before: if the agent dies between start and keeping, the next one finds the
// process by it.
func (s *shard) start(ctx context.Context, cmd protocol.Command, e entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	group := s.a.cgroups.Make(s.a.groupName(s.id), process.Limits{MemoryBytes: memoryLimit(e.Shard.MemoryMB), Processes: maxProcesses})
	p, err := s.launch(cmd, e, group)
	if err != nil {
		return s.startFailure(err, cmd.Path)
	}
	s.proc = p
	err = s.a.ledger.change(s.id, func(e *entry) error {
		e.Process, e.Group, e.Stop = p.ID(), group, cmd.Stop
		e.Starts++
		s.starts = e.Starts
		return nil
	})
	if err != nil {
		// Without a record it would be nobody's after the next restart.
		_ = p.Kill()
		s.proc = nil
		return err
	}
	s.log.Info("engine started", "port", e.Port, "pid", p.ID().PID)
	s.say(inventory.ShardStarting, nil)
	return nil
}

// launch starts the process with a new log, which stays the agent's own: an
// engine that could move it could make the agent write or read what it likes.
func (s *shard) launch(cmd protocol.Command, e entry, group process.Group) (*process.Process, error) {
	logs.PutAside(s.logPath())
	out, err := logs.Append(s.logPath())
	if err != nil {
		return nil, err
	}
	defer out.Close()
	dir := s.workDir(e.UID)
	return process.Start(process.Launch{
		Path: cmd.Path, Args: cmd.Args, Env: environment(cmd.Env, dir), Dir: dir, Output: out, Mark: e.Mark,
		Group: group, User: s.a.userOf(e), Processes: maxProcesses,
	})
}

func (s *shard) startFailure(err error, path string) error {
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
		return failed(protocol.CauseEngine, fmt.Sprintf("%s cannot be started: %v; install the engine again", path, err))
	case durable.Full(err):
		return folderFailure(err, s.dir())
	}
	return failed(protocol.CauseUnknown, fmt.Sprintf("%s cannot be started: %v", path, err))
}

// endpoint is where the shard's engine is asked.
func endpoint(e entry) protocol.Endpoint {
	return protocol.Endpoint{
		Address: net.JoinHostPort(e.Host, strconv.Itoa(e.Port)),
		Key:     e.Shard.EngineKey,
		Model:   string(e.Shard.Model),
	}
}

// engineMap is the engines by name.
func engineMap(list []Engine) map[catalog.Engine]Engine {
	out := map[catalog.Engine]Engine{}
	for _, e := range list {
		out[e.Name()] = e
	}
	return out
}
