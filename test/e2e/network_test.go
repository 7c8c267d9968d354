//go:build e2e && unix

package e2e

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// wire is a network in between that can be cut without a word: connections stay
// open, and nothing goes through.
type wire struct {
	listener net.Listener
	to       string

	mu  sync.Mutex
	cut chan struct{} // closed while it is whole
}

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: l, to: to, cut: make(chan struct{})}
	close(w.cut)
	t.Cleanup(func() {
		l.Close()
		w.mend()
	})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go w.carry(c)
		}
	}()
	return w
}

func (w *wire) carry(c net.Conn) {
	defer c.Close()
	<-w.whole()
	up, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	defer up.Close()
	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{c, up}, {up, c}} {
		go func() {
			defer func() { done <- struct{}{} }()
			buf := make([]byte, 16<<10)
			for {
				n, err := pair[0].Read(buf)
				<-w.whole()
				if n > 0 {
					if _, werr := pair[1].Write(buf[:n]); werr != nil {
						return
					}
				}
				if err != nil {
					return
				}
			}
		}()
	}
	<-done
}

func (w *wire) whole() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cut
}

func (w *wire) sever() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = make(chan struct{})
}

func (w *wire) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.cut:
	default:
		close(w.cut)
	}
}

// TestNetworkCut cuts the network between agent and control plane without a
// word: the node is unreachable, its engine answers, and when the network is
// back, so is the node, with the same engine and with what was ordered since.
func TestNetworkCut(t *testing.T) {
	t.Parallel()
	p := startServe(t)
	w := newWire(t, strings.TrimPrefix(p.Agents, "https://"))
	agents := p.Agents
	p.Agents = "https://" + w.listener.Addr().String()
	n := p.startNode("n1", "control: [\"https://"+w.listener.Addr().String()+"\"]\n")
	p.Agents = agents
	p.add(simModel("m", scaling(1, 1)))
	p.untilReady("m", 1)
	pid := n.theEngine()
	for range 2 {
		w.sever()
		p.untilNode("n1", "unreachable")
		if r := p.client().chat(t, "m"); r.status != http.StatusOK {
			t.Errorf("while the network is cut: %s", r)
		}
		p.add(simModel("later", scaling(1, 1)))
		w.mend()
		p.untilNode("n1", "ready")
		p.untilReady("later", 1)
		if _, err := p.admin.RemoveModel(t.Context(), "later"); err != nil {
			t.Fatal(err)
		}
		until(t, "the other engine is gone", soon, func() (bool, any) { return len(n.engines()) == 1, n.engines() })
	}
	if got := n.theEngine(); got != pid {
		t.Errorf("the engine had pid %d and has %d", pid, got)
	}
}

// TestManyAtOnce lets two hundred clients ask at once for a model that does not
// run: one engine starts, everybody is answered, and nothing is in flight then.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	p := startServe(t)
	n := p.startNode("n1", "")
	s := scaling(0, 1)
	m := simModel("cold", s, "--startup-duration", "1s", "--say", "word", "--output-tokens", "20", "--inter-token-latency", "5ms")
	m.Profiles[0].Slots = 32
	p.add(m)
	const clients = 200
	// Each its own connection, as from as many machines.
	h := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer h.CloseIdleConnections()
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			body := `{"model":"cold","stream":` + []string{"true", "false"}[i%2] + `,"messages":[{"role":"user","content":"hello"}]}`
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.Client+"/v1/chat/completions", strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Authorization", "Bearer "+p.key)
			resp, err := h.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != http.StatusOK || i%2 == 0 && !strings.HasSuffix(string(b), "data: [DONE]\n\n") {
				t.Errorf("client %d: %s %v %.200s", i, resp.Status, err, b)
			}
		})
	}
	wg.Wait()
	if n := strings.Count(n.output(), `"engine started"`); n != 1 {
		t.Errorf("%d engines were started", n)
	}
	until(t, "nothing is in flight", soon, func() (bool, any) {
		target, err := p.admin.Target(t.Context(), "cold")
		return err == nil && target.Signals.Running == 0 && target.Signals.Queued == 0, target
	})
	until(t, "all of it is on record", soon, func() (bool, any) {
		use, err := p.admin.Usage(t.Context(), "project", time.Hour)
		return err == nil && len(use) == 1 && use[0].Requests == clients && use[0].Errors == 0, use
	})
}
