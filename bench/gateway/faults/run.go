package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Results are what command gateway reads.
type Results struct {
	Gone []Gone
	// Bodies is how many times its own size a prompt of 4 MiB has allocated.
	Bodies float64
	// Sent were sent around the death of a replica, and Failed of them were not
	// answered well.
	Sent, Failed int
	// HeldMS is the 99th percentile of the time from a replica's being ready until
	// it hears a request that waited for it.
	HeldMS float64
}

func run(control, config, key string, trials int) (*Results, error) {
	dir, err := os.MkdirTemp("", "llmgw-faults")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // what stays is the system's to clear
	e := &engine{trials: map[int]*trial{}}
	names := []string{"{{dir}}", dir}
	var die func() error
	for i := range 4 {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		srv := &http.Server{Handler: e, ReadHeaderTimeout: time.Minute}
		go func() { _ = srv.Serve(ln) }() // until the process ends
		die = srv.Close
		names = append(names, fmt.Sprintf("{{upstream%d}}", i+1), ln.Addr().String())
	}
	port, aux := freePort(), freePort()
	names = append(names, "{{port}}", port, "{{aux}}", aux)
	text, err := os.ReadFile(config)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "llmgw.yaml")
	if err := os.WriteFile(path, []byte(strings.NewReplacer(names...).Replace(string(text))), 0o600); err != nil {
		return nil, err
	}
	stop, err := start(control, path)
	if err != nil {
		return nil, err
	}
	defer stop()
	c := &client{address: "127.0.0.1:" + port, key: key}
	if err := c.ready(); err != nil {
		return nil, err
	}
	res := &Results{}
	for _, r := range routes {
		for _, after := range []bool{false, true} {
			g := c.leave(e, r, after, trials)
			log.Printf("%s, %s: %d of %d told, p50 %.2f ms, p99 %.2f ms %s", g.Route, g.Stage, g.Told, g.Trials, g.P50MS, g.P99MS, g.FirstErrorText)
			res.Gone = append(res.Gone, g)
		}
	}
	res.Bodies, err = c.longPrompts("http://127.0.0.1:" + aux + "/debug/pprof/allocs?debug=1")
	if err != nil {
		return nil, err
	}
	log.Printf("a prompt of 4 MiB allocates %.2f bodies", res.Bodies)
	if res.Sent, res.Failed, err = c.kill(e, die); err != nil {
		return nil, err
	}
	log.Printf("of %d requests around the death of a replica %d failed", res.Sent, res.Failed)
	p99, err := held(key, trials)
	res.HeldMS = float64(p99.Microseconds()) / 1e3
	log.Printf("a request that waits is sent within %.2f ms of ready, p99", res.HeldMS)
	return res, err
}

// start starts the router, and gives what ends it.
func start(control, config string) (stop func(), err error) {
	cmd := exec.Command(control, "router", "--config", config)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // it was told to end
	}, nil
}

func freePort() string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	defer ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String()) // it is one
	return port
}

// post sends one request and wants a good answer.
func (c *client) post(body string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.address+routes[0].path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", res.Status, b)
	}
	return err
}

// ready waits until the router answers.
func (c *client) ready() (err error) {
	for range 500 {
		if err = c.post(`{"model":"bench-model","messages":[{"role":"user","content":"hi"}]}`); err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("the router does not answer: %w", err)
}

// longPrompts sends some, and says how many times their size each has allocated.
func (c *client) longPrompts(profile string) (float64, error) {
	const size, n = 4 << 20, 8
	// The router asks the engine for usage, which edits the body.
	body := `{"model":"bench-model","stream":true,"messages":[{"role":"user","content":"` + strings.Repeat("long prompt ", size/12) + `"}]}`
	before, err := allocated(profile)
	if err != nil {
		return 0, err
	}
	for range n {
		if err := c.post(body); err != nil {
			return 0, err
		}
	}
	after, err := allocated(profile)
	return (after - before) / n / float64(len(body)), err
}

// allocated reads the runtime's counter of bytes from a profile's header.
func allocated(url string) (bytes float64, err error) {
	res, err := http.Get(url) //nolint:noctx // of this machine
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if _, err := fmt.Sscanf(line, "# TotalAlloc = %f", &bytes); err == nil {
			return bytes, nil
		}
	}
	return 0, errors.New("the profile says nothing of what was allocated")
}
