package llmgw

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"llmgw.io/llmgw/inventory"
)

// FindAgent finds the agent's program: the given one, or llmgw-agent beside this
// program or on the PATH.
func FindAgent(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "llmgw-agent")
		if _, err := os.Stat(beside); err == nil {
			return beside, nil
		}
	}
	path, err := exec.LookPath("llmgw-agent")
	if err != nil {
		return "", errors.New("llmgw-agent is neither beside this program nor on the PATH; build it, or name it with --agent")
	}
	return path, nil
}

// AgentChild is an agent beside a control plane, for a whole system on one
// machine. It is a process of its own, joined over real TLS like any other.
type AgentChild struct {
	// Program is the agent's. Required; see FindAgent.
	Program string
	// Dir is the agent's data folder. Required.
	Dir string
	// Node is the name to join as. Empty: the host's.
	Node string
}

// Beside runs a control plane with the agent beside it, and ends both together.
// serve is told what to call once it listens.
func (a AgentChild) Beside(ctx context.Context, serve func(ctx context.Context, ready func(*ControlPlane, Addresses)) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var child sync.WaitGroup
	err := serve(ctx, func(c *ControlPlane, at Addresses) {
		child.Go(func() { cancel(a.Run(ctx, c, at.Agents)) })
	})
	cancel(nil)
	child.Wait()
	if cause := context.Cause(ctx); err == nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// Run joins the machine once and keeps the agent running until ctx ends. Its
// error says why the machine could not join.
func (a AgentChild) Run(ctx context.Context, c *ControlPlane, control string) error {
	if err := a.join(ctx, c, control); err != nil {
		return err
	}
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		began := time.Now()
		cmd := a.command(ctx, "run", "--control", control, "--mgmt-addr", "127.0.0.1", "--stop-engines")
		err := cmd.Run()
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it was ended on purpose
		}
		if time.Since(began) > time.Minute {
			wait = time.Second
		}
		c.logger.Warn("the agent ended and is started again", "err", err, "in", wait.String())
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// join makes this machine a node, unless it is one.
func (a AgentChild) join(ctx context.Context, c *ControlPlane, control string) error {
	if _, err := os.Stat(filepath.Join(a.Dir, "identity.json")); err == nil {
		return nil
	}
	token, err := c.JoinToken(ctx, inventory.Author{Principal: "system:dev", Action: "tokens.join.create", Reason: "the agent beside this control plane"})
	if err != nil {
		return err
	}
	args := []string{"join", "--control", control}
	if a.Node != "" {
		args = append(args, "--name", a.Node)
	}
	cmd := a.command(ctx, args...)
	cmd.Env = append(cmd.Environ(), "LLMGW_JOIN_TOKEN="+token)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the agent %s could not join: %w", a.Program, err)
	}
	return nil
}

// command is the agent's program, ended gently with ctx: it stops its engines
// first.
func (a AgentChild) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, a.Program, append(args, "--data-dir", a.Dir)...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 40 * time.Second
	endWithParent(cmd)
	return cmd
}
