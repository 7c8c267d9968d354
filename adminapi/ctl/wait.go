package ctl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw/adminapi/adminclient"
	"llmgw.io/llmgw/adminapi/view"
)

// patience is how many looks in a row may fail once one was answered: a control
// plane that restarts is back before that.
const patience = 30

func (o outside) wait() *cli.Command {
	return o.leaf(leaf{name: "wait", usage: "Wait until a model is ready, and show how far it is", args: []string{"MODEL"}, ops: []string{"Models", "Replicas"}, do: wait, flags: []cli.Flag{
		&cli.DurationFlag{Name: "timeout", Usage: "give up after this long; never when left out"},
		&cli.IntFlag{Name: "replicas", Usage: "how many must be ready; as many as the model's least when left out"},
	}})
}

// look is what wait saw.
type look struct {
	model    view.ModelView
	replicas []view.Replica
}

func wait(ctx context.Context, s *session) error {
	if t := s.Duration("timeout"); t > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t, errors.New("out of time"))
		defer cancel()
	}
	p := newProgress(s.err, s.arg(0))
	defer p.close()
	every := time.NewTicker(s.every)
	defer every.Stop()
	answered, failed := false, 0
	for {
		l, err := s.look(ctx, s.arg(0))
		switch {
		case err == nil:
			answered, failed = true, 0
			if done, err := s.judge(l); done {
				p.finish(l, err)
				return err
			}
			p.show(l)
		case !worthAnother(ctx, err, answered) || failed >= patience:
			return s.gaveUp(ctx, err)
		default:
			failed++
		}
		select {
		case <-ctx.Done():
			return s.gaveUp(ctx, ctx.Err())
		case <-every.C:
		}
	}
}

// worthAnother says whether an error may pass: the control plane was there and
// is away for a moment.
func worthAnother(ctx context.Context, err error, answered bool) bool {
	var refused *adminclient.Error
	return answered && ctx.Err() == nil && !errors.As(err, &refused)
}

func (s *session) gaveUp(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("model %s is not ready after %s; explain %s says where it stands", s.arg(0), s.Duration("timeout"), s.arg(0))
	}
	return err
}

// look asks how the model is doing.
func (s *session) look(ctx context.Context, name string) (look, error) {
	models, err := s.client.Models(ctx)
	if err != nil {
		return look{}, err
	}
	for _, m := range models {
		if m.Name != name {
			continue
		}
		replicas, err := allReplicas(ctx, s, name)
		return look{model: m, replicas: replicas}, err
	}
	return look{}, &adminclient.Error{Status: 404, Code: "not_found", Text: fmt.Sprintf("there is no model %q; models list shows what there is", name)}
}

// judge says whether there is nothing more to wait for, and how it ended.
func (s *session) judge(l look) (done bool, err error) {
	m := l.model
	want := m.MinReplicas
	if s.IsSet("replicas") {
		want = s.Int("replicas")
	}
	switch {
	case m.External != "":
		return true, nil
	case m.Parked:
		return true, fmt.Errorf("model %s is parked after %d failed starts: %s; mend that and run models retry %s", m.Name, m.Failures, m.Reason, m.Name)
	case m.MaxReplicas == 0 && m.DesiredReplicas == 0:
		return true, fmt.Errorf("model %s is scaled to none; raise it with models scale %s --min 1", m.Name, m.Name)
	case m.MinReplicas == 0 && m.DesiredReplicas == 0 && !s.IsSet("replicas"):
		return true, nil // on demand, and nobody asks for it
	case m.ReadyReplicas >= max(1, want):
		return true, nil
	}
	return false, nil
}

// fetched sums how far the weights of all shards are; total 0: not known.
func fetched(replicas []view.Replica) (done, total int64) {
	for _, r := range replicas {
		for _, sh := range r.Shards {
			if sh.Fetch != nil && sh.Fetch.BytesTotal > 0 {
				done += sh.Fetch.BytesDone
				total += sh.Fetch.BytesTotal
			}
		}
	}
	return done, total
}
