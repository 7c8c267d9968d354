package simengine

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"time"
)

const (
	// meetEvery is between two tries to reach the leading rank.
	meetEvery = 50 * time.Millisecond
	// workerVariable makes the process the engine's worker.
	workerVariable = "SIM_ENGINE_WORKER"
)

// lead waits for the other ranks of the group at the master's address. What it
// gives is closed when one of them is gone.
func (v *vllm) lead(stops <-chan os.Signal) (<-chan struct{}, error) {
	others := v.flags.number("nnodes") - 1
	lost := make(chan struct{}, 1)
	if others < 1 {
		return lost, nil
	}
	l, err := net.Listen("tcp", v.master())
	if err != nil {
		return nil, v.end(1, fmt.Sprintf("torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: %s, code: -98, name: EADDRINUSE, message: address already in use", v.flags.values["master-port"]))
	}
	met := make(chan net.Conn)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			met <- c
		}
	}()
	for range others {
		select {
		case c := <-met:
			go func() {
				_, _ = io.Copy(io.Discard, c) // until it is gone
				lost <- struct{}{}
			}()
		case <-lost:
			return nil, v.end(1, "RuntimeError: NCCL error: remote process exited or there was a network error", vllmNoCore)
		case <-stops:
			return nil, &ExitError{Code: 0, Reason: "told to stop while it waited for its group"}
		}
	}
	return lost, nil
}

// follow is a rank that serves nobody: it lives for as long as the leading one.
func (v *vllm) follow(stops <-chan os.Signal) error {
	for {
		c, err := net.DialTimeout("tcp", v.master(), time.Second)
		if err == nil {
			v.log("Launching vLLM (v%s) headless multiproc executor, with head node address %s for torch.distributed process group.", v.version, v.master())
			return v.untilGone(c, stops)
		}
		select {
		case <-stops:
			return nil
		case <-time.After(meetEvery):
		}
	}
}

func (v *vllm) untilGone(c net.Conn, stops <-chan os.Signal) error {
	defer c.Close()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, c)
	}()
	select {
	case <-stops:
		return nil
	case <-gone:
		return v.end(1, "RuntimeError: NCCL error: remote process exited or there was a network error", "Worker proc VllmWorker-0 died unexpectedly, shutting down executor.")
	}
}

func (v *vllm) master() string {
	return net.JoinHostPort(v.flags.values["master-addr"], strconv.Itoa(v.flags.number("master-port")))
}

// startVLLMWorker starts the process that would hold the device: this program once
// more, with the same arguments. It ends with this one, and at a TERM; what it gives
// is closed then.
func startVLLMWorker() (<-chan struct{}, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), workerVariable+"=1")
	if _, err := cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	died := make(chan struct{})
	go func() {
		defer close(died)
		_ = cmd.Wait()
	}()
	return died, nil
}

// beWorker is the worker: nothing, until the engine is gone.
func beWorker() error {
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}
