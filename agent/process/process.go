package process

import (
	"errors"
	"os"
	"time"

	"llmgw.io/llmgw/agent/protocol"
)

// Launch is a process to be started.
type Launch struct {
	// Path is the program, absolute.
	Path string
	Args []string
	// Env is the whole environment but for the mark: nothing is inherited.
	Env []string
	// Dir is where it works.
	Dir string
	// Output gets what it writes, straight from it: no pipe of the agent's is in
	// between, so the engine does not notice when the agent ends. It may be
	// closed once Start has returned.
	Output *os.File
	// Mark is what the processes of the tree are found by; it should be like no
	// other. Required.
	Mark string
	// Group is its cgroup. Empty: none.
	Group Group
	// User is whom it runs as.
	User User
	// Processes is how many the user may have, where it is the tree's own. Zero:
	// as many as the agent's.
	Processes int
}

// Process is an engine's process: started here, or adopted.
type Process struct {
	tree    Tree
	adopted bool
	// done is closed when it has ended and exit is set.
	done chan struct{}
	exit protocol.Exit
}

// ID tells the process from any other.
func (p *Process) ID() ID { return p.tree.Leader }

// Adopted says that an earlier agent started it.
func (p *Process) Adopted() bool { return p.adopted }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Exit says how it ended. It is zero before Done is closed; how one ended that
// was adopted cannot be known, only that it did.
func (p *Process) Exit() protocol.Exit {
	if !p.Ended() {
		return protocol.Exit{}
	}
	return p.exit
}

// Stop ends the process in the order that engines need: a request, the same once
// more after again, then death for the whole tree after kill, both counted from
// the first. Some engines answer the first request only when the last client has
// left, and the second at once. How an engine wants it otherwise is in how. It
// returns when nothing of the tree is left, or what is left cannot be killed.
func (p *Process) Stop(how protocol.Stopping, again, kill time.Duration) error {
	p.ask(how.LeaderOnly)
	second, last := time.After(how.Grace+again), time.After(how.Grace+kill)
	for {
		select {
		case <-p.done:
			return p.Sweep()
		case <-second:
			p.ask(how.LeaderOnly)
		case <-last:
			return p.Kill()
		}
	}
}

// Kill ends the whole tree at once.
func (p *Process) Kill() error {
	err := p.tree.kill(!p.Ended())
	select {
	case <-p.done:
	case <-time.After(5 * time.Second):
		err = errors.Join(err, errors.New("process: the engine's process does not end though it was killed; look for a device that hangs, and restart the machine if it stays"))
	}
	return err
}

// Sweep kills what the process left behind when it ended.
func (p *Process) Sweep() error { return p.tree.kill(!p.adopted) }
