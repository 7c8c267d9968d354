package router

import (
	"errors"
	"slices"
	"sync"
	"time"

	"llmgw.io/llmgw/catalog"
)

// errRemoved is the end of what a removed node was asked.
var errRemoved = errors.New("router: the replica's node was removed from the cluster")

// cutWait bounds how long a cut waits for what it has ended: a client that takes
// nothing holds up its own answer, and nobody's removal of a node.
const cutWait = 2 * time.Second

// Cut ends what is in flight to the replicas of a node that was removed from its
// cluster: who has seen nothing of an answer yet is answered by another replica, and
// who has hears an error where the answer breaks off. Connections that are idle are
// closed. It returns when no more of what the node says is passed on, two seconds
// later at the latest. Backends must not list the node's replicas any more, or those
// of a new member of that name alone.
func (r *Router) Cut(node string) {
	if node == "" {
		return
	}
	late := time.NewTimer(cutWait)
	defer late.Stop()
	var all []<-chan struct{}
	r.replicas.byID.Range(func(id, v any) bool {
		if left, its := v.(*replica).asked.cut(node); its {
			r.cfg.Upstream.Forget(id.(string))
			all = append(all, left)
		}
		return true
	})
	for _, left := range all {
		select {
		case <-left:
		case <-late.C:
			return
		}
	}
}

// asked are the attempts at one replica that run.
type asked struct {
	mu   sync.Mutex
	open map[*try]struct{}
	// node is where the replica is; wasCut tells that this was removed once, though it
	// may have come back since.
	node   string
	wasCut bool
	// left is closed when the last that was cut has ended. Nil: nobody waits.
	left chan struct{}
}

// enter notes an attempt. It reports whether the node was removed once.
func (a *asked) enter(t *try) (wasCut bool) {
	if t.b.Node == "" {
		return false // nobody removes it
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open == nil {
		a.open = map[*try]struct{}{}
	}
	a.open[t] = struct{}{}
	a.node = t.b.Node
	return a.wasCut
}

func (a *asked) leave(t *try) {
	if t.b.Node == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, t)
	if len(a.open) == 0 && a.left != nil {
		close(a.left)
		a.left = nil
	}
}

// cut ends the attempts where the replica is on the node. What it answers is closed
// when they have ended.
func (a *asked) cut(node string) (left <-chan struct{}, its bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.node != node {
		return nil, false
	}
	a.wasCut = true
	if a.left == nil {
		a.left = make(chan struct{})
	}
	left = a.left
	if len(a.open) == 0 {
		close(a.left)
		a.left = nil
	}
	for t := range a.open {
		go t.w.abort(errRemoved) // a comment may just be written to a client that takes nothing
	}
	return left, true
}

// lists reports whether a replica may be asked still. It may have been chosen just
// before its node was removed.
func (r *Router) lists(model catalog.Name, id string) bool {
	return slices.ContainsFunc(r.backends(model), func(b Backend) bool { return b.ID == id })
}

// removed is a replica whose node is none of the cluster's any more.
func removed() *failure {
	f := broken("removed", "The machine that answered was removed from the cluster; try again.")
	f.removed = true
	return f
}
