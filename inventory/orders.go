package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// SetWish changes what people want of a node and answers the node as it is then.
func (r *Registry) SetWish(ctx context.Context, id NodeID, w Wish, by Author) (*Node, error) {
	if !w.Valid() {
		return nil, fmt.Errorf("set node %s to %q: %w: want ready, cordoned or draining", id, w, ErrState)
	}
	n, err := r.change(ctx, id, by, func(s *NodeSettings) bool {
		same := s.Wish == w
		s.Wish = w
		return !same
	})
	if err != nil {
		return nil, fmt.Errorf("set node %s to %q: %w", id, Shown(w, Heard), err)
	}
	return n, nil
}

// changeTries is how often a write is tried again on a newer row. Only another
// process can make a row newer meanwhile, so a few are plenty.
const changeTries = 3

// change edits a node's settings in the store and then here. edit reports
// whether there is anything to write.
func (r *Registry) change(ctx context.Context, id NodeID, by Author, edit func(*NodeSettings) bool) (*Node, error) {
	for try := 1; ; try++ {
		n := r.Snapshot().Node(id)
		if n == nil {
			return nil, fmt.Errorf("%w: %s", ErrNotFound, id)
		}
		s := n.Settings.clone()
		if !edit(&s) {
			return n, nil
		}
		kept, err := r.store.PutNodeSettings(ctx, s, s.Revision, by)
		switch {
		case err == nil:
			r.log.Info("node's settings changed", "node", string(id), "wish", string(Shown(kept.Wish, Heard)), "actor", by.Principal)
			return r.adopt(kept), nil
		case !errors.Is(err, ErrStale) || try == changeTries:
			return nil, err
		}
		if err := r.refresh(ctx, id); err != nil {
			return nil, err
		}
	}
}

// refresh takes the row that another process wrote.
func (r *Registry) refresh(ctx context.Context, id NodeID) error {
	rows, err := r.store.ListNodeSettings(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(rows, func(s NodeSettings) bool { return s.Node == id })
	if i < 0 {
		return fmt.Errorf("%w: %s was removed meanwhile", ErrNotFound, id)
	}
	r.adopt(rows[i])
	return nil
}

// adopt publishes settings as the store keeps them, unless newer ones are here.
func (r *Registry) adopt(s NodeSettings) *Node {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.Snapshot().Node(s.Node)
	if n == nil {
		n = unheard(s)
	} else if n.Settings.Revision >= s.Revision {
		return n
	}
	next := *n
	next.Settings = s
	r.names.name(&next)
	e := r.edit()
	e.put(&next, true)
	r.publish(e, true)
	return &next
}

// SetBuild chooses the build of an engine on a node and answers the node as it is
// then. What is no build is refused with an error that matches ErrBuild.
func (r *Registry) SetBuild(ctx context.Context, id NodeID, engine, build string, by Author) (*Node, error) {
	if err := CheckBuild(engine, build); err != nil {
		return nil, err
	}
	n, err := r.change(ctx, id, by, func(s *NodeSettings) bool {
		if s.EngineBuilds[engine] == build {
			return false
		}
		if s.EngineBuilds == nil {
			s.EngineBuilds = map[string]string{}
		}
		s.EngineBuilds[engine] = build
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("choose build %s of %s for node %s: %w", build, engine, id, err)
	}
	return n, nil
}

// Forget removes a node that is lost, or unreachable with nothing allocated;
// else the error matches ErrState and says what to do.
func (r *Registry) Forget(ctx context.Context, id NodeID, by Author) error {
	n := r.Snapshot().Node(id)
	if n == nil {
		return fmt.Errorf("remove node %s: %w", id, ErrNotFound)
	}
	if err := n.forgettable(); err != nil {
		return fmt.Errorf("remove node %s: %w", id, err)
	}
	if err := r.store.DeleteNode(ctx, id, by); err != nil {
		return fmt.Errorf("remove node %s: %w", id, err)
	}
	r.cut(id)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.silence.forget(id)
	delete(r.quiet, id)
	e := r.edit()
	e.remove(id)
	r.publish(e, true)
	r.log.Info("node is removed", "node", string(id), "actor", by.Principal)
	return nil
}
