package agenttest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// toyVariable makes a test binary a toy engine instead of a run of tests.
const toyVariable = "LLMGW_TOY_ENGINE"

// Toy is an engine that is a real process: this test binary, run again. Let
// TestMain call RunToy first. Its temper comes from the profile's Env, which
// the toy understands as follows:
//
//	TOY_SAY=text       writes a line and goes on
//	TOY_EXIT=code      ends at once with that code
//	TOY_CHILDREN=n     starts n children that live in sessions of their own
//	TOY_DEAF=1         does not end at the first TERM
//	TOY_SLOW=duration  is not ready before that
//
// A request to /v1/chat/completions is answered by a stream of as many chunks as
// its body says in decimal.
type Toy struct {
	Engine
}

// RunToy is the toy engine, when this process was started as one: it does not
// return then. Otherwise it does nothing.
func RunToy() {
	addr := os.Getenv(toyVariable)
	if addr == "" {
		return
	}
	if err := runToy(addr); err != nil {
		fmt.Fprintln(os.Stderr, "toy:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runToy(addr string) error {
	fmt.Println("toy engine at", addr, os.Getenv("TOY_SAY"))
	if code := os.Getenv("TOY_EXIT"); code != "" {
		n, err := strconv.Atoi(code)
		if err != nil {
			return err
		}
		os.Exit(n)
	}
	children, _ := strconv.Atoi(os.Getenv("TOY_CHILDREN"))
	for range children {
		c := exec.Command("sleep", "1000000")
		c.SysProcAttr = newSession()
		if err := c.Start(); err != nil {
			return err
		}
	}
	slow, _ := time.ParseDuration(os.Getenv("TOY_SLOW"))
	begun := time.Now()
	key := "Bearer " + os.Getenv("TOY_KEY")
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/ready", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != key:
			w.WriteHeader(http.StatusUnauthorized)
		case time.Since(begun) < slow:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			_, _ = io.WriteString(w, os.Getenv("TOY_MODEL"))
		}
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != key {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		toyStream(w, r)
	})
	term := make(chan os.Signal, 2)
	signal.Notify(term, syscall.SIGTERM)
	go func() {
		<-term
		if os.Getenv("TOY_DEAF") != "" {
			fmt.Println("toy engine hears nothing")
			<-term
		}
		os.Exit(0)
	}()
	return http.Serve(l, mux)
}

// toyStream answers with as many chunks as the body says, one every 10 ms.
func toyStream(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<10))
	if err != nil {
		return
	}
	chunks, _ := strconv.Atoi(string(body))
	w.Header().Set("Content-Type", "text/event-stream")
	for i := range chunks {
		fmt.Fprintf(w, "data: %d\n\n", i)
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			fmt.Println("toy engine lost a client")
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Command is agent.Engine's: this binary, as a toy.
func (t *Toy) Command(s protocol.DesiredShard, at protocol.Launch) (protocol.Command, error) {
	if t.CommandFunc != nil {
		return t.CommandFunc(s, at)
	}
	self, err := os.Executable()
	if err != nil {
		return protocol.Command{}, err
	}
	c := protocol.Command{Path: self, Env: []string{
		toyVariable + "=" + net.JoinHostPort(at.Host, strconv.Itoa(at.Port)),
		"TOY_KEY=" + s.EngineKey, "TOY_MODEL=" + string(s.Model), "PATH=" + os.Getenv("PATH"),
	}, Files: map[string]string{"toy.conf": "shard " + s.Shard + "\n"}}
	for k, v := range s.Env {
		c.Env = append(c.Env, k+"="+v)
	}
	return c, nil
}

// Installed is agent.Engine's.
func (t *Toy) Installed(ctx context.Context) []inventory.Engine {
	if t.InstalledFunc != nil {
		return t.InstalledFunc(ctx)
	}
	return []inventory.Engine{{Name: string(t.Name()), Version: "toy"}}
}

// Ready is agent.Health's.
func (t *Toy) Ready(ctx context.Context, e protocol.Endpoint) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+e.Address+"/ready", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+e.Key)
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	model, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	switch {
	case err != nil:
		return err
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusOK && string(model) != e.Model:
		return protocol.ErrForeign
	case resp.StatusCode != http.StatusOK:
		return errors.New("agenttest: the toy is not ready yet")
	}
	return nil
}
