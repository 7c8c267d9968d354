package adminapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/inventory"
)

func (a *API) summary(c *call) (view.Summary, error) {
	p := view.Process{Version: a.cfg.Version, Started: a.cfg.Started}
	if a.cfg.Store != nil {
		p.StoreKind = a.cfg.Store.Kind()
	}
	if a.cfg.Leader != nil {
		p.Leader = a.cfg.Leader()
	}
	return view.SummaryOf(c.world(), p), nil
}

func (a *API) listNodes(c *call) ([]view.Node, error) {
	w := c.world()
	list, err := page(c, w.View.Fleet.Nodes(), func(n *inventory.Node) string { return string(n.ID) })
	if err != nil {
		return nil, err
	}
	out := make([]view.Node, 0, len(list))
	for _, n := range list {
		out = append(out, view.NodeOf(w, n))
	}
	return out, nil
}

func (a *API) getNode(c *call) (view.Node, error) {
	w := c.world()
	n := w.View.Fleet.Node(inventory.NodeID(c.param("id")))
	if n == nil {
		return view.Node{}, noNode(c.param("id"))
	}
	return view.NodeOf(w, n), nil
}

func noNode(id string) error {
	return missing("there is no node %q; GET %s/nodes, or ctl nodes list, lists them", clip(id), Base)
}

// wishes are the words a person may use for what is wanted of a node.
func wishes(word string) (inventory.Wish, bool) {
	switch word {
	case "uncordon":
		word = string(inventory.StateReady)
	case "cordon":
		word = string(inventory.StateCordoned)
	case "drain":
		word = string(inventory.StateDraining)
	}
	return inventory.WishOf(inventory.NodeState(word))
}

func (a *API) setNodeState(c *call, in view.NodeStateRequest) (view.NodeState, error) {
	wish, ok := wishes(in.State)
	if !ok {
		return view.NodeState{}, invalid("the node state request names the state %q; it is one of ready, cordoned, draining", clip(in.State))
	}
	n, err := a.cfg.Nodes.SetWish(c.r.Context(), inventory.NodeID(c.param("id")), wish, c.author(in.Reason))
	if errors.Is(err, inventory.ErrNotFound) {
		return view.NodeState{}, noNode(c.param("id"))
	}
	if err != nil {
		return view.NodeState{}, err
	}
	return view.NodeState{ID: string(n.ID), State: string(n.State())}, nil
}

// setBuild needs the part that says that nodes are Builds too.
func (a *API) setBuild(c *call, in view.NodeEngineRequest) (view.NodeEngineRequest, error) {
	if err := inventory.CheckBuild(in.Engine, in.Build); err != nil {
		return view.NodeEngineRequest{}, invalid("%s", strings.TrimPrefix(err.Error(), inventory.ErrBuild.Error()+": "))
	}
	_, err := a.cfg.Nodes.(Builds).SetBuild(c.r.Context(), inventory.NodeID(c.param("id")), in.Engine, in.Build, c.author(""))
	if errors.Is(err, inventory.ErrNotFound) {
		return view.NodeEngineRequest{}, noNode(c.param("id"))
	}
	return in, err
}

func (a *API) removeNode(c *call) (view.NodeRemoved, error) {
	id := c.param("id")
	err := a.cfg.Nodes.Forget(c.r.Context(), inventory.NodeID(id), c.author(""))
	switch {
	case errors.Is(err, inventory.ErrNotFound):
		return view.NodeRemoved{}, noNode(id)
	case errors.Is(err, inventory.ErrState):
		return view.NodeRemoved{}, a.stillThere(id)
	case err != nil:
		return view.NodeRemoved{}, err
	}
	return view.NodeRemoved{ID: id, Removed: "true"}, nil
}

// stillThere says in which state the node is, and how it can be removed.
func (a *API) stillThere(id string) error {
	state := "still there"
	if a.cfg.Cluster != nil {
		if n := a.look().Fleet.Node(inventory.NodeID(id)); n != nil {
			state = string(n.State())
		}
	}
	return refuse(http.StatusConflict, codeConflict,
		"node %q is %s; stop its agent (systemctl stop llmgw-agent) and remove it once it is lost, a minute later", id, state)
}

// usualTail is how many of the last lines of a log are shown.
const (
	usualTail  = 200
	widestTail = 100_000
)

// openLog is how long an agent may take to begin with its log, and writeLine
// how long a caller may take to read a piece of it.
const (
	openLog   = 15 * time.Second
	writeLine = 30 * time.Second
)

func (a *API) nodeLogs(c *call) error {
	tail, err := c.number("tail", usualTail)
	if err != nil {
		return err
	}
	if tail < 0 {
		return invalid("tail must not be negative; 0 shows only what comes")
	}
	follow, err := c.flag("follow")
	if err != nil {
		return err
	}
	id := c.param("id")
	if a.cfg.Cluster != nil && a.look().Fleet.Node(inventory.NodeID(id)) == nil {
		return noNode(id)
	}
	ctx, cancel := context.WithCancel(c.r.Context())
	defer cancel()
	late := time.AfterFunc(openLog, cancel)
	log, err := a.cfg.NodeCalls.Logs(ctx, id, c.r.URL.Query().Get("shard"), min(tail, widestTail), follow)
	intime := late.Stop()
	if err != nil {
		return agentProblem(c.r.Context(), id, err, intime)
	}
	defer log.Close()
	if !intime {
		return agentProblem(c.r.Context(), id, context.DeadlineExceeded, false)
	}
	c.w.Header().Set("Content-Type", c.route.media)
	if err := pour(c.w, log); err != nil && c.r.Context().Err() == nil {
		a.cfg.Logger.Warn("a node's log broke off", "node", id, "err", err)
		panic(http.ErrAbortHandler)
	}
	return nil
}

// agentProblem says what became of a question to an agent.
func agentProblem(asked context.Context, node string, err error, intime bool) error {
	var r *refusal
	switch {
	case asked.Err() != nil:
		return asked.Err()
	case errors.As(err, &r):
		return r
	case errors.Is(err, inventory.ErrNotFound):
		return noNode(node)
	case errors.Is(err, ErrUnsupported):
		return refuse(http.StatusConflict, codeUnsupported, "the agent of node %q is too old for this; upgrade it", node)
	case errors.Is(err, ErrNoLog):
		return missing("%s", plain(err))
	case errors.Is(err, ErrBusy):
		return refuse(http.StatusTooManyRequests, codeRateLimited, "too many questions wait for the agent of node %q already; close a log that is followed, and ask again", node)
	case !intime || errors.Is(err, context.DeadlineExceeded):
		return refuse(http.StatusGatewayTimeout, codeTimeout, "the agent of node %q did not answer in time; look whether it is reachable, and ask again", node)
	}
	return refuse(http.StatusBadGateway, codeAgentFailed, "the agent of node %q could not do it: %s", node, plain(err))
}

// pour passes a stream on as it comes.
func pour(w http.ResponseWriter, from io.Reader) error {
	rc := http.NewResponseController(w)
	// The connection may serve others after this.
	defer func() { _ = rc.SetWriteDeadline(time.Time{}) }()
	w.WriteHeader(http.StatusOK)
	buf := make([]byte, 32<<10)
	for {
		// Not every connection knows deadlines or can flush; those that do not
		// are in memory or belong to a server that has its own.
		_ = rc.Flush()
		n, err := from.Read(buf)
		if n > 0 {
			_ = rc.SetWriteDeadline(time.Now().Add(writeLine))
			if _, err := w.Write(buf[:n]); err != nil {
				return fmt.Errorf("write to the caller: %w", err)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read from the agent: %w", err)
		}
	}
}
