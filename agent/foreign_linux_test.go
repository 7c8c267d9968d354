package agent_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"llmgw.io/llmgw/agent"
	"llmgw.io/llmgw/agent/agenttest"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// TestPortTakenBeforeTheEngine has a program that takes the port between the
// agent's look and the engine's: it is found out, and is not told the key.
func TestPortTakenBeforeTheEngine(t *testing.T) {
	t.Parallel()
	for name, configure := range map[string]func(*testing.T, *plane) agent.Config{"own user": isolated, "agent's user": config} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlane()
			cfg := configure(t, p)
			var mu sync.Mutex
			var heard, taken []string
			toy := &agenttest.Toy{Engine: agenttest.Engine{CommandFunc: func(_ protocol.DesiredShard, at protocol.Launch) (protocol.Command, error) {
				l, err := net.Listen("tcp", net.JoinHostPort(at.Host, strconv.Itoa(at.Port)))
				if err != nil {
					t.Error(err)
					return protocol.Command{}, err
				}
				thief := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					mu.Lock()
					defer mu.Unlock()
					heard = append(heard, r.Header.Get("Authorization"))
				}))
				_ = thief.Listener.Close()
				thief.Listener = l
				thief.Start()
				t.Cleanup(thief.Close)
				mu.Lock()
				defer mu.Unlock()
				taken = append(taken, strconv.Itoa(at.Port))
				return protocol.Command{Path: "/bin/sleep", Args: []string{"1000000"}, Env: []string{"PATH=" + os.Getenv("PATH")}}, nil
			}}}
			cfg.Engines = []agent.Engine{toy}
			run(t, cfg)
			s := shardOf("m-1.0", nil)
			p.order(s)
			st := p.wait(t, s.Shard, inventory.ShardFailed)
			mu.Lock()
			defer mu.Unlock()
			if st.Cause != string(protocol.CauseForeign) || len(taken) != 1 || !strings.Contains(st.Error, taken[0]) {
				t.Errorf("got %+v at port %v", st, taken)
			}
			if len(heard) > 0 {
				t.Errorf("the program was asked, with %q", heard)
			}
		})
	}
}
