package adminapi

import (
	"context"
	"io"
	"net/http"
	"time"

	"llmgw.io/llmgw/adminapi/auth"
	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/fabrics"
	"llmgw.io/llmgw/placement/dryrun"
	"llmgw.io/llmgw/placement/reconciler"
	"llmgw.io/llmgw/storage"
)

// Authenticator says who sends a request. It may block on a look-up and is
// called at once from many goroutines. Errors match auth.ErrMissing or
// auth.ErrRefused, are an *auth.ThrottledError, or are our own fault.
type Authenticator interface {
	Authenticate(r *http.Request) (auth.Identity, error)
}

// Models changes the catalog. Index never blocks and its answer is read only;
// the others may block, validate everything before they write anything, and
// answer what is in force then. expected nil takes any revision, else another
// one answers catalog.ErrStale. Errors are joined catalog.InvalidErrors or match
// the sentinels of package catalog.
type Models interface {
	Index() *catalog.Index
	Add(ctx context.Context, m catalog.Model, by catalog.Author) (catalog.Entry, error)
	Change(ctx context.Context, name catalog.Name, c catalog.Change, expected *int64, by catalog.Author) (catalog.Entry, error)
	Remove(ctx context.Context, name catalog.Name, expected *int64, by catalog.Author) error
}

// Cluster is the newest look at everything. View never blocks, is never nil and
// is shared: read only. The others try on copies and may take a moment; an unknown
// model answers an error that matches reconciler.ErrNoModel, and a change that
// makes no sense one of PlanChange's.
type Cluster interface {
	View() *reconciler.View
	Headroom(model catalog.Name, limit int) (reconciler.Headroom, error)
	Help(model catalog.Name) (reconciler.Help, error)
	PlanHold(h inventory.Hold) reconciler.HoldPlan
	PlanChange(c dryrun.Change) (dryrun.Report, error)
}

// Operator takes orders. Its methods may block until the order is kept, and
// repeating one is safe. Errors match reconciler.ErrNoModel and
// reconciler.ErrNoReplica; one unknown replica refuses the whole restart.
type Operator interface {
	Retry(ctx context.Context, model catalog.Name) (wasParked bool, err error)
	Restart(ctx context.Context, ids []reconciler.ReplicaID, mode reconciler.RestartMode) error
	ReleaseBrake(ctx context.Context) (wasSet bool, err error)
}

// Nodes changes what people want of nodes, and of the places they stand in. Its
// methods may block, write their row with its audit entry, and may be repeated.
// Errors match inventory.ErrNotFound, ErrState, ErrInvalid and ErrNoHold. The
// node that is answered is shared: read only.
type Nodes interface {
	SetWish(ctx context.Context, id inventory.NodeID, w inventory.Wish, by inventory.Author) (*inventory.Node, error)
	SetLabels(ctx context.Context, id inventory.NodeID, change map[string]*string, by inventory.Author) (*inventory.Node, error)
	Forget(ctx context.Context, id inventory.NodeID, by inventory.Author) error
	Hold(ctx context.Context, h inventory.Hold, now time.Time, by inventory.Author) (inventory.Hold, error)
	ReleaseHold(ctx context.Context, d inventory.Domain, now time.Time, by inventory.Author) error
}

// Builds is what a Nodes may be too: it chooses the builds of engines on nodes, and
// keeps the choice. Errors match
// inventory.ErrNotFound, ErrBuild, or are the store's.
type Builds interface {
	SetBuild(ctx context.Context, id inventory.NodeID, engine, build string, by inventory.Author) (*inventory.Node, error)
}

// Snapshots is what a Nodes may be too: the newest look at nodes, so that a
// change of one is shown before the loop has come round to it. It never blocks.
type Snapshots interface {
	Snapshot() *inventory.Snapshot
}

// Fabrics is what is remembered of the networks between nodes. Memory and Newest
// never block, and what they answer is read only. Scan has a node walk a network,
// by its key, and blocks for as long; a repetition is safe. Its errors match
// fabrics.ErrNoScanner, or are as those of NodeCalls.
type Fabrics interface {
	Memory() fabrics.Memory
	Newest(key string) (fabrics.Scan, bool)
	Scan(ctx context.Context, key string) (fabrics.Scan, error)
}

// NodeCalls asks a live agent. An agent that is away, refuses or fails answers
// any error; it is shown to the caller and must hold nothing secret. One that
// matches inventory.ErrNotFound says that there is no such node, ErrUnsupported
// that the agent lacks the feature, ErrNoLog that it has no such log, ErrBusy that too much is asked of it, and
// context.DeadlineExceeded that it did not answer in time.
type NodeCalls interface {
	// Logs opens the agent's log, or a shard's when one is named: its last tail
	// lines, zero for none, and with follow all that come. The stream ends with ctx; the caller
	// closes it.
	Logs(ctx context.Context, node, shard string, tail int, follow bool) (io.ReadCloser, error)
}

// FabricTests is what a NodeCalls may be too: it has two nodes measure the network
// between them, for in.Seconds or the usual time, and blocks until they have.
// Errors are those of a NodeCalls, or match ErrNoFabric.
type FabricTests interface {
	FabricTest(ctx context.Context, in view.FabricTestRequest) (view.FabricTestResult, error)
}

// Usage sums what was used. It may block; the slice belongs to the caller. One
// that also is a Requests opens the route of single requests.
type Usage interface {
	SumUsage(ctx context.Context, q storage.UsageQuery) ([]storage.UsageSum, error)
}

// Requests finds one record; storage.ErrNotFound when there is none (yet).
type Requests interface {
	Request(ctx context.Context, id string) (storage.Request, error)
}

// Keys keeps client keys. Methods may block; slices belong to the caller.
// Revoking an unknown key answers an error that matches storage.ErrNotFound, and
// one that the configuration file declares one that matches ErrDeclared.
type Keys interface {
	CreateKey(ctx context.Context, k storage.Key, by inventory.Author) error
	ListKeys(ctx context.Context) ([]storage.Key, error)
	RevokeKey(ctx context.Context, id string, by inventory.Author) error
}

// Audit is the log of every change. Methods may block; slices belong to the
// caller. VerifyAudit answers storage.ErrTampered when the chain does not hold.
type Audit interface {
	ListAudit(ctx context.Context, q storage.AuditQuery) ([]storage.AuditEvent, error)
	RecordAudit(ctx context.Context, by inventory.Author, object, before, after string) error
	VerifyAudit(ctx context.Context) error
}

// AdminTokens keeps who may use this API. As Keys.
type AdminTokens interface {
	CreateAdminToken(ctx context.Context, t storage.AdminToken, by inventory.Author) error
	ListAdminTokens(ctx context.Context) ([]storage.AdminToken, error)
	RevokeAdminToken(ctx context.Context, id string, by inventory.Author) error
}

// JoinTokens keeps permissions to join. As Keys, newest first.
type JoinTokens interface {
	CreateJoinToken(ctx context.Context, t inventory.JoinToken, by inventory.Author) error
	ListJoinTokens(ctx context.Context) ([]inventory.JoinToken, error)
	RevokeJoinToken(ctx context.Context, id string, by inventory.Author) error
}

// JoinSecret is a fresh permission to join: the whole token is shown once, the
// hash is kept.
type JoinSecret struct {
	ID, Hash, Token string
}

// Statics says how replicas that others run are doing. It never blocks; the
// slice belongs to the caller.
type Statics interface {
	Statics() []view.Static
}

// Looks says what was seen of a model's weights where they come from; false:
// nothing was. It never blocks.
type Looks interface {
	Look(m *catalog.Model) (view.Look, bool)
}

// Choices says how replicas were chosen for a request. It never blocks and the
// answer belongs to the caller; false: nothing is known of the request.
type Choices interface {
	ExplainRequest(id string) (view.RequestExplain, bool)
}

// Health is the store as a thing that can be reached. Ping answers nil when it
// can be read and written.
type Health interface {
	Kind() string
	Ping(ctx context.Context) error
}
