package agent

import (
	"errors"
	"os"
	"time"

	"llmgw.io/llmgw/agent/protocol"
)

// markVariable is in the environment of every process of a shard. Children
// inherit it, also those that leave the session or lose their parent.
const markVariable = "LLMGW_SHARD_MARK"

// launch is a process to be started.
type launch struct {
	path string
	args []string
	env  []string
	dir  string
	// log is where output goes, straight from the process: no pipe of the
	// agent's is in between, so the engine does not notice when the agent ends.
	log    string
	mark   string
	cgroup string // folder; empty: none
}

// process is an engine's process: started here, or adopted.
type process struct {
	id      processID
	mark    string
	cgroup  string
	adopted bool
	// done is closed when it has ended and exit is set.
	done chan struct{}
	exit protocol.Exit
}

// ended reports whether the process has ended.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// stop ends the process in the order that engines need: a request, the same
// again, then death for the whole tree. Some engines answer the first TERM only
// when the last client has left, and the second at once. It returns when
// nothing of the tree is left, or what is left cannot be killed.
func (p *process) stop(t Times) error {
	signalGroup(p, termSignal)
	again, kill := time.After(t.TermAgain), time.After(t.Kill)
	for {
		select {
		case <-p.done:
			return p.sweep()
		case <-again:
			signalGroup(p, termSignal)
		case <-kill:
			return p.kill()
		}
	}
}

// kill ends the whole tree at once.
func (p *process) kill() error {
	err := killTree(tree{leader: p.id, mark: p.mark, cgroup: p.cgroup, ours: !p.ended()})
	select {
	case <-p.done:
	case <-time.After(5 * time.Second):
		err = errors.Join(err, errors.New("agent: the engine's process does not end though it was killed; look for a device that hangs, and restart the machine if it stays"))
	}
	return err
}

// sweep kills what the process left behind when it ended.
func (p *process) sweep() error {
	return killTree(tree{leader: p.id, mark: p.mark, cgroup: p.cgroup, ours: !p.adopted})
}

// tree is all processes of one shard.
type tree struct {
	leader processID
	mark   string
	cgroup string
	// ours says that the leader's number cannot have been given to somebody
	// else meanwhile, so that its session is known to be this shard's.
	ours bool
}

// errTree says that processes of a shard outlive a kill.
var errTree = errors.New("agent: processes of the shard are left though they were killed")

// openLog opens a log for appending; it is cut in place when it grows, which
// works because every write goes to its end.
func openLog(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
}
