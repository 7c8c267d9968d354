package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"
)

// patience bounds a trial; an engine that is told later was not told.
const patience = 2 * time.Second

// Gone is what came of the trials of one route at one stage.
type Gone struct {
	Route, Stage   string
	Trials, Told   int
	P50MS, P99MS   float64
	FirstErrorText string `json:",omitempty"`
}

// route is a path and a body that says which trial it is.
type route struct{ name, path, body string }

var routes = []route{
	{"chat", "/v1/chat/completions", `{"model":"bench-model","stream":true,"messages":[{"role":"user","content":"trial=%d;"}]}`},
	{"completions", "/v1/completions", `{"model":"bench-model","stream":true,"prompt":"trial=%d;"}`},
	{"embeddings", "/v1/embeddings", `{"model":"bench-model","input":"trial=%d;"}`},
}

// client sends requests that it leaves.
type client struct {
	address, key string
	n            int // of the last trial
}

func (c *client) request(path, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		path, c.key, len(body), body)
}

// leave makes the trials of a route at a stage.
func (c *client) leave(e *engine, r route, after bool, trials int) Gone {
	g := Gone{Route: r.name, Stage: "before the first byte", Trials: trials}
	if after {
		g.Stage = "after the first byte"
	}
	var took []time.Duration
	for range trials {
		d, err := c.once(e, r, after)
		if err != nil {
			if g.FirstErrorText == "" {
				g.FirstErrorText = err.Error()
			}
			continue
		}
		took = append(took, d)
	}
	g.Told = len(took)
	slices.Sort(took)
	if n := len(took); n > 0 {
		g.P50MS = float64(took[n/2].Microseconds()) / 1e3
		g.P99MS = float64(took[min(n*99/100, n-1)].Microseconds()) / 1e3
	}
	return g
}

// once leaves one request and says how soon the engine knew.
func (c *client) once(e *engine, r route, after bool) (time.Duration, error) {
	c.n++
	t := e.add(c.n, after)
	conn, err := net.Dial("tcp", c.address)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience)) // of a connection that is new
	if _, err := io.WriteString(conn, c.request(r.path, fmt.Sprintf(r.body, c.n))); err != nil {
		return 0, err
	}
	select {
	case <-t.there:
	case <-time.After(patience):
		return 0, errors.New("the request did not arrive")
	}
	if after && strings.Contains(r.body, "stream") {
		if err := firstEvent(conn); err != nil {
			return 0, err
		}
	}
	left := time.Now()
	conn.Close()
	select {
	case at := <-t.gone:
		return at.Sub(left), nil
	case <-time.After(patience):
		return 0, errors.New("the engine was not told")
	}
}

func firstEvent(conn net.Conn) error {
	r := bufio.NewReader(conn)
	for {
		line, err := r.ReadString('\n')
		if err != nil || strings.HasPrefix(line, "data:") {
			return err
		}
	}
}
