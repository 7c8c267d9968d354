package gate

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// The routes for the agent, at the socket in the gate's folder.
const (
	pathState = "/gate/v1/state"
	pathDrain = "/gate/v1/drain"
)

// State is what a gate says of itself.
type State struct {
	Shard string `json:"shard"`
	// Listen and Engine are as it was started with.
	Listen string `json:"listen"`
	Engine string `json:"engine"`
	// InFlight are requests that are being answered now; Served were answered, and
	// Refused turned away while it drained.
	InFlight int64  `json:"in_flight"`
	Served   uint64 `json:"served"`
	Refused  uint64 `json:"refused"`
	Draining bool   `json:"draining"`
	// Ends is when the certificate in force ends.
	Ends time.Time `json:"ends"`
}

// drain is the body of the one order there is.
type drain struct {
	Draining bool `json:"draining"`
}

func (g *Gate) state() State {
	return State{
		Shard: g.cfg.Shard, Listen: g.cfg.Listen, Engine: g.cfg.Engine, InFlight: g.flight.now.Load(),
		Served: g.flight.served.Load(), Refused: g.flight.refused.Load(), Draining: g.flight.draining.Load(), Ends: g.id.until(),
	}
}

// agentsRoutes needs no key: whoever can reach the socket can read the engine's.
func (g *Gate) agentsRoutes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+pathState, func(w http.ResponseWriter, _ *http.Request) { g.tell(w) })
	mux.HandleFunc("PUT "+pathDrain, func(w http.ResponseWriter, r *http.Request) {
		var d drain
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<10)).Decode(&d); err != nil {
			http.Error(w, "the order cannot be read", http.StatusBadRequest)
			return
		}
		g.flight.draining.Store(d.Draining)
		g.tell(w)
	})
	return mux
}

func (g *Gate) tell(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(g.state()) // the agent asks again
}

// listenSocket makes the socket anew: one that an earlier gate left is nobody's.
func listenSocket(dir string) (net.Listener, error) {
	path, release, err := short(dir)
	if err != nil {
		return nil, err
	}
	defer release()
	path = filepath.Join(path, SocketFile)
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // its name is short for as long as this function runs
	return l, nil
}
