package fabrictest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"llmgw.io/llmgw/agent/protocol"
)

const (
	// firstWord is how long the end that listens is watched for an end at once.
	firstWord = 300 * time.Millisecond
	// tryAgain is between two tries to reach it.
	tryAgain = 200 * time.Millisecond
	// ibMargin is what the program may take beside the time of sending.
	ibMargin = 5 * time.Second
	// killGrace is how long a killed one may take to end before it is left.
	killGrace = 2 * time.Second
)

var errNoProgram = errors.New("this node has no ib_write_bw; install the package perftest")

// program is the path of ib_write_bw. Empty: this node has none.
func (t *Tester) program() string {
	if t.Program != "" {
		return t.Program
	}
	if p, err := exec.LookPath(MethodIBWrite); err == nil {
		return p
	}
	for _, dir := range []string{"/usr/bin", "/usr/local/bin"} {
		if info, err := os.Stat(filepath.Join(dir, MethodIBWrite)); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return filepath.Join(dir, MethodIBWrite)
		}
	}
	return ""
}

// IBWrite reports whether this node has ib_write_bw.
func (t *Tester) IBWrite() bool { return t.program() != "" }

// said keeps the first of what a program says.
type said struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write is io.Writer's. What is too much is dropped.
func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b.Write(p[:min(len(p), max(0, mostSaid-s.b.Len()))])
	return len(p), nil
}

// String is what was said so far.
func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// ibRun is the program while it runs.
type ibRun struct {
	end  context.CancelFunc
	done chan struct{}
	out  said
	err  error // of its end
}

// startIB starts the program. It is killed at the end of ctx, or with the agent.
func startIB(ctx context.Context, program string, args []string) *ibRun {
	ctx, cancel := context.WithCancel(ctx)
	r := &ibRun{end: cancel, done: make(chan struct{})}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &r.out, &r.out, killGrace
	go func() {
		defer close(r.done)
		defer cancel()
		r.err = runWithUs(cmd)
	}()
	return r
}

// why is what the program complained of.
func (r *ibRun) why() string {
	if c := complaint(r.out.String()); c != "" {
		return c
	}
	if r.err != nil {
		return r.err.Error()
	}
	return "it ended without a word"
}

// listenIB starts the end that listens. It is over once the other end has measured, or
// nobody came.
func (t *Tester) listenIB(args protocol.FabricTestArgs, at netip.Addr) (*Listening, error) {
	path := t.program()
	if path == "" {
		return nil, errNoProgram
	}
	if err := checkAdapter(args); err != nil {
		return nil, err
	}
	ln, err := listen(at)
	if err != nil {
		return nil, err
	}
	port := tcpPort(ln)
	if err := ln.Close(); err != nil { // it is the program's from here on
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), connectTime+time.Duration(args.Seconds)*time.Second+ibMargin)
	r := startIB(ctx, path, ibWriteArgs(args, port, ""))
	early := time.NewTimer(firstWord)
	defer early.Stop()
	select {
	case <-r.done:
		cancel()
		return nil, fmt.Errorf("ib_write_bw: %s", r.why())
	case <-early.C:
	}
	context.AfterFunc(ctx, r.end)
	go func() { <-r.done; cancel() }()
	return &Listening{args: args, ib: r, report: protocol.FabricTestReport{Address: at.String(), Port: port}}, nil
}

// dialIB measures to the end that listens, which may need a moment to get there.
func (t *Tester) dialIB(ctx context.Context, args protocol.FabricTestArgs) (none protocol.FabricTestReport, err error) {
	path := t.program()
	if path == "" {
		return none, errNoProgram
	}
	if err := checkAdapter(args); err != nil {
		return none, err
	}
	until := time.Now().Add(connectTime / 2)
	for {
		bound, cancel := context.WithTimeout(ctx, time.Duration(args.Seconds)*time.Second+ibMargin)
		r := startIB(bound, path, ibWriteArgs(args, args.Port, args.Address))
		<-r.done
		late := bound.Err() != nil
		cancel()
		switch {
		case ctx.Err() != nil:
			return none, ctx.Err()
		case late:
			return none, fmt.Errorf("ib_write_bw did not end in %d s and was killed", args.Seconds+int(ibMargin/time.Second))
		case r.err == nil:
			gbps, err := parseIBWrite(r.out.String())
			if err != nil {
				return none, fmt.Errorf("ib_write_bw: %w", err)
			}
			return protocol.FabricTestReport{Gbps: gbps}, nil
		case !notThere(r.out.String()) || time.Now().After(until):
			return none, fmt.Errorf("ib_write_bw: %s", r.why())
		}
		select {
		case <-ctx.Done():
			return none, ctx.Err()
		case <-time.After(tryAgain):
		}
	}
}
