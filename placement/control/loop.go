package control

import (
	"context"
	"errors"
	"log/slog"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/placement"
	"llmgw.io/llmgw/placement/reconciler"
)

// Config is what a Loop needs.
type Config struct {
	Catalog     Catalog     // required
	Fleet       Fleet       // required
	Dispatcher  Dispatcher  // required
	Assignments Assignments // required
	// Traffic nil means that no router says anything: nothing is idle.
	Traffic Traffic
	Events  Events
	Placer  placement.Placer
	// Holder is the name under which the lease is held. Required.
	Holder string
	// Logger nil is silent.
	Logger *slog.Logger
}

// ErrNoModel says that no model has that name.
var ErrNoModel = errors.New("control: no such model")

// ErrNoReplica says that no replica has that id.
var ErrNoReplica = errors.New("control: no such replica")

// Loop is the control loop.
type Loop struct{}

// New checks the configuration.
func New(cfg Config) (*Loop, error) { panic("not built yet") }

// Run acquires the lease, loads what was ordered, and keeps the fleet as it
// should be until ctx ends. A lost lease makes it wait and acquire again.
func (l *Loop) Run(ctx context.Context) error { panic("not built yet") }

// Wake makes the loop look again soon. It never blocks.
func (l *Loop) Wake() { panic("not built yet") }

// View is the newest look at the cluster; never nil, it never blocks.
func (l *Loop) View() *reconciler.View { panic("not built yet") }

// Changed returns a channel that is closed when a newer View is there.
func (l *Loop) Changed() <-chan struct{} { panic("not built yet") }

// Headroom tries up to limit more replicas of a model on a copy of the fleet.
func (l *Loop) Headroom(model catalog.Name, limit int) (placement.Headroom, error) {
	panic("not built yet")
}

// Retry un-parks a model and clears its failures.
func (l *Loop) Retry(ctx context.Context, model catalog.Name) (wasParked bool, err error) {
	panic("not built yet")
}

// Restart queues restarts; one unknown id refuses them all.
func (l *Loop) Restart(ctx context.Context, ids []reconciler.ReplicaID, mode reconciler.RestartMode) error {
	panic("not built yet")
}
