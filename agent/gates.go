package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"llmgw.io/llmgw/agent/gate"
	"llmgw.io/llmgw/agent/logs"
	"llmgw.io/llmgw/agent/process"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/internal/durable"
)

const (
	// gateTries is how often a gate is started before its shard fails.
	gateTries = 3
	// gateLimit is how long a gate may take to answer after its start.
	gateLimit = 15 * time.Second
	// gateDeaf is how many questions in a row a gate may leave without an answer
	// before it is started anew, which ends what is in flight.
	gateDeaf = 6
	// gateLog is its log, in its folder.
	gateLog = "gate.log"
)

// gateEntry is a shard's gate as it was started. It has no port where the shard has
// none: its engine is asked directly.
type gateEntry struct {
	Host string `json:"host,omitempty"`
	Port int    `json:"port,omitempty"`
	// Mark, Process and Group are those of the engine's entry, for the gate.
	Mark    string        `json:"mark,omitempty"`
	Process process.ID    `json:"process,omitzero"`
	Group   process.Group `json:"cgroups,omitempty"`
}

func (g gateEntry) tree() process.Tree {
	return process.Tree{Leader: g.Process, Mark: g.Mark, Group: g.Group}
}

// front is what routers are told of where a shard is asked.
func front(e entry) (address string, gated bool) {
	if e.Gate.Port == 0 {
		return endpoint(e).Address, false
	}
	return net.JoinHostPort(e.Gate.Host, strconv.Itoa(e.Gate.Port)), true
}

// gatekeeper is a shard's gate as its goroutine knows it.
type gatekeeper struct {
	proc *process.Process // nil: none runs
	// opened is when it was started, told whether it was told to drain, and deaf how
	// many questions in a row it has not answered.
	opened time.Time
	told   bool
	deaf   int
}

// gateDir is a gate's own folder. The shard's will not do: the engine may write
// there, and the gate's configuration says what passes to it.
func (s *shard) gateDir() string {
	return filepath.Join(s.a.cfg.DataDir, "gates", hashed(s.id)[:16])
}

func (s *shard) askGate() gate.Client { return gate.Client{Dir: s.gateDir()} }

// gateDone is closed when the gate has ended; nil while there is none.
func (s *shard) gateDone() <-chan struct{} {
	if s.gate.proc == nil {
		return nil
	}
	return s.gate.proc.Done()
}

// certified has the node's certificate for gates made, where a gate is to be
// opened, before anything else is done for the shard.
func (a *Agent) certified(ctx context.Context) (string, error) {
	c, ok := a.cfg.Control.(GateIdentity)
	if !ok {
		return "", failed(protocol.CauseAccess, "this agent's control plane gives no certificates for gates; set engine_access: direct in the agent's configuration if the network is fenced")
	}
	ctx, cancel := context.WithTimeout(ctx, 2*a.cfg.Times.Request)
	defer cancel()
	path, err := c.GateIdentity(ctx)
	if err != nil {
		return "", failed(protocol.CauseAccess, fmt.Sprintf("there is no certificate for this node's gates, without which no router would believe them: %v", err))
	}
	return path, nil
}

// openGate has the shard's gate run and answer: the one that was adopted, or a new
// one. It returns the entry, as another port may have been taken.
func (s *shard) openGate(ctx context.Context, e entry) (entry, error) {
	if e.Gate.Port == 0 || s.a.expelled.Load() {
		return e, nil
	}
	var err error
	for try := 0; try < gateTries; try++ {
		if s.gate.proc == nil {
			if e, err = s.startGate(ctx, e); err != nil {
				return e, err
			}
		}
		if err = s.gateAnswers(ctx, e); err == nil || ctx.Err() != nil {
			return e, err
		}
		s.log.Warn("gate not open", "address", e.Gate.Host, "port", e.Gate.Port, "err", err)
		s.closeGate()
		s.a.bad.add(e.Gate.Port)
		if e, err = s.a.regate(s.id); err != nil {
			return e, err
		}
	}
	return e, failed(protocol.CauseGate, fmt.Sprintf("the engine is ready, and the gate before it cannot be opened: %s; see %s",
		strings.Join(tail(logs.Last(filepath.Join(s.gateDir(), gateLog)), 2), "; "), s.gateDir()))
}

func tail(lines []string, n int) []string { return lines[max(0, len(lines)-n):] }

// regate takes another port for a shard's gate.
func (a *Agent) regate(id string) (out entry, err error) {
	err = a.ledger.change(id, func(e *entry) error {
		port, err := a.choosePort(0, 0, e.Gate.Host, a.gatePorts(), a.ledger.ports(id))
		if err != nil {
			return err
		}
		e.Gate.Port, e.Gate.Process, e.Gate.Group = port, process.ID{}, nil
		out = *e
		return nil
	})
	return out, err
}

// startGate writes the gate's configuration and starts it. Its mark is in the
// ledger already.
func (s *shard) startGate(ctx context.Context, e entry) (entry, error) {
	identity, err := s.a.certified(ctx)
	if err != nil {
		return e, err
	}
	dir := s.gateDir()
	address, _ := front(e)
	b, err := json.Marshal(gate.Config{Shard: s.id, Listen: address, Engine: endpoint(e).Address, EngineKey: e.Shard.EngineKey, Identity: identity})
	if err != nil {
		return e, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return e, folderFailure(err, dir)
	}
	if err := durable.WriteFile(filepath.Join(dir, gate.ConfigFile), b); err != nil {
		return e, folderFailure(err, dir)
	}
	logs.PutAside(filepath.Join(dir, gateLog))
	out, err := logs.Append(filepath.Join(dir, gateLog))
	if err != nil {
		return e, folderFailure(err, dir)
	}
	defer out.Close()
	group := s.a.cgroups.Make(s.a.groupName(s.id+"/gate"), process.Limits{})
	args := append(append([]string{}, s.a.cfg.Gate[1:]...), dir)
	p, err := process.Start(process.Launch{Path: s.a.cfg.Gate[0], Args: args, Dir: dir, Output: out, Mark: e.Gate.Mark, Group: group})
	if err != nil {
		return e, failed(protocol.CauseGate, fmt.Sprintf("the gate %s cannot be started: %v; install the agent again", s.a.cfg.Gate[0], err))
	}
	s.gate = gatekeeper{proc: p, opened: time.Now()}
	err = s.a.ledger.change(s.id, func(kept *entry) error {
		kept.Gate.Process, kept.Gate.Group = p.ID(), group
		e = *kept
		return nil
	})
	if err != nil {
		s.closeGate() // without a record it would be nobody's after the next restart
		return e, err
	}
	s.log.Info("gate started", "address", address, "pid", p.ID().PID)
	return e, nil
}

// gateAnswers waits until the gate says that it stands before this engine.
func (s *shard) gateAnswers(ctx context.Context, e entry) error {
	late := time.NewTimer(gateLimit)
	defer late.Stop()
	look := time.NewTicker(min(s.a.cfg.Times.Look, 50*time.Millisecond))
	defer look.Stop()
	address, _ := front(e)
	for {
		st, err := s.gateState(ctx)
		switch {
		case err == nil && (st.Shard != s.id || st.Listen != address || st.Engine != endpoint(e).Address):
			return fmt.Errorf("it stands at %s before %s and not at %s before %s", st.Listen, st.Engine, address, endpoint(e).Address)
		case err == nil:
			s.gate.told, s.gate.deaf = st.Draining, 0
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.gateDone():
			return errors.New("it ended at once")
		case <-late.C:
			return err
		case <-look.C:
		}
	}
}

func (s *shard) gateState(ctx context.Context) (gate.State, error) {
	ctx, cancel := context.WithTimeout(ctx, max(s.a.cfg.Times.Use, time.Second))
	defer cancel()
	return s.askGate().State(ctx)
}

// tendGate tells the gate whether to drain, where it has not been told, and has one
// that does not answer any more started anew.
func (s *shard) tendGate(ctx context.Context) {
	if s.gate.proc == nil {
		return
	}
	if s.a.expelled.Load() {
		s.log.Warn("the node was removed from the cluster, so its gate is shut")
		s.closeGate()
		return
	}
	d, stop, _ := s.wish()
	drain := stop || d.Want == protocol.WantDrain
	ctx, cancel := context.WithTimeout(ctx, max(s.a.cfg.Times.Use, time.Second))
	defer cancel()
	st, err := s.askGate().Drain(ctx, drain)
	if err == nil {
		s.gate.told, s.gate.deaf = st.Draining, 0
		return
	}
	if s.gate.deaf++; s.gate.deaf >= gateDeaf && !s.gate.proc.Ended() {
		s.log.Warn("gate does not answer and is started anew", "err", err)
		s.stopGate(s.gate.proc.Kill) // that it has ended is seen as any other end of it
	}
}

// reopenGate starts a gate again that has ended by itself, and not in haste.
func (s *shard) reopenGate(ctx context.Context, e entry) (entry, error) {
	s.log.Warn("gate ended and is started again", "ran", time.Since(s.gate.opened).Round(time.Millisecond).String())
	if time.Since(s.gate.opened) < time.Second {
		select {
		case <-ctx.Done():
			return e, nil
		case <-time.After(min(s.a.cfg.Times.Retry, time.Second)):
		}
	}
	s.closeGate()
	e, err := s.openGate(ctx, e)
	if err != nil && ctx.Err() == nil {
		return e, s.end(asFailure(err))
	}
	s.tendGate(ctx)
	return e, nil
}

// adoptGate takes over the gate of an engine that was adopted, and ends what is
// left of any other.
func (s *shard) adoptGate(e entry) {
	if e.Gate.Mark == "" {
		return
	}
	if s.proc != nil {
		if p, ok := process.Adopt(e.Gate.tree(), s.a.cfg.Times.Look); ok {
			s.gate = gatekeeper{proc: p, opened: time.Now()}
			return
		}
	}
	if err := e.Gate.tree().Kill(); err != nil {
		s.log.Error("the rest of a gate is not stopped", "err", err)
	}
}

// closeGate ends the gate, letting what is in flight finish for a few seconds.
func (s *shard) closeGate() {
	if s.gate.proc == nil {
		return
	}
	p := s.gate.proc
	s.stopGate(func() error { return p.Stop(protocol.Stopping{}, s.a.cfg.Times.TermAgain, s.a.cfg.Times.Kill) })
	s.gate = gatekeeper{}
	s.keep(func(e *entry) { e.Gate.Process, e.Gate.Group = process.ID{}, nil })
	_ = os.Remove(filepath.Join(s.gateDir(), gate.ConfigFile)) // it holds the key, and is written at each start
}

func (s *shard) stopGate(stop func() error) {
	if err := stop(); err != nil {
		s.log.Error("gate not stopped", "err", err)
	}
}
