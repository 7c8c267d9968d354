package llmgw

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"llmgw.io/llmgw/adminapi"
	"llmgw.io/llmgw/adminapi/auth"
	"llmgw.io/llmgw/agent/hub"
	"llmgw.io/llmgw/agent/inspect"
	"llmgw.io/llmgw/agent/survey"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/internal/pki"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
	"llmgw.io/llmgw/placement/control"
	"llmgw.io/llmgw/placement/reconciler"
	"llmgw.io/llmgw/router"
	"llmgw.io/llmgw/storage"
	"llmgw.io/llmgw/storage/journalfile"
)

// Config is what a ControlPlane needs. Store and Pepper are required.
type Config struct {
	// Store keeps everything. Required; it is not closed here.
	Store storage.Store
	// Pepper hashes keys and derives those of engines. Required; see LoadPepper.
	Pepper storage.Pepper
	// Settings are those of the configuration file. The zero value has the
	// documented defaults.
	Settings File
	// DataDir is a folder for what this process alone keeps, such as usage that
	// is not in the store yet. Empty: it waits in memory, and a killed process
	// loses it.
	DataDir string
	// Auth says who may use the admin API. Nil: holders of admin tokens.
	Auth adminapi.Authenticator
	// InsecureAdmin lets everybody on this machine use the admin API; New refuses
	// it unless that listens on loopback. It is ignored where Auth is set.
	InsecureAdmin bool
	// InspectWeights has weights looked into, as Settings.Weights says, before a
	// definition that names them is taken. False: they are taken unseen.
	InspectWeights bool
	// Journal keeps why each decision was made. Nil: a journal in DataDir, where
	// there is one, for as long as Settings.Limits.Journal says. One that is given is
	// not closed here.
	Journal storage.Journal
	// Placer adds filters and scorers to the scheduler's own.
	Placer placement.Placer
	// Upstream carries requests to replicas. Nil: the router's own.
	Upstream router.Upstream
	// Events are told what the control loop did.
	Events control.Events
	// Holder is the name under which this process leads. Empty: the host's name
	// and DataDir.
	Holder string
	// Version is shown to people. Default "dev".
	Version string
	// Logger nil is silent.
	Logger *slog.Logger
	// MeterProvider nil takes the global one.
	MeterProvider metric.MeterProvider
	// TracerProvider nil takes the global one.
	TracerProvider trace.TracerProvider
	// Metrics answers scrapes at /metrics of the admin listener, with a viewer's
	// token. Nil: there is nothing to scrape there.
	Metrics http.Handler
}

// ControlPlane is the whole control plane with its router, wired from the
// default parts. It may be used by any number of goroutines at once, and several
// may live in one process.
type ControlPlane struct {
	cfg     Config
	logger  *slog.Logger
	started time.Time

	inspector *inspect.Inspector // nil: nobody looks into weights
	catalog   *catalog.Service
	registry  *inventory.Registry
	hub       *hub.Hub
	survey    *survey.Survey
	loop      *control.Loop
	journal   *journalfile.Journal // nil: none, or the embedder's
	router    *router.Router
	admin     *adminapi.API
	ca        *pki.CA
	fleet     *backends
	leading   atomic.Bool
}

// The map of the wiring: which default stands behind which seam.
var (
	_ adminapi.Models        = (*catalog.Service)(nil)
	_ adminapi.Cluster       = (*control.Loop)(nil)
	_ adminapi.Operator      = (*control.Loop)(nil)
	_ adminapi.Nodes         = (*nodes)(nil)
	_ adminapi.Snapshots     = (*nodes)(nil)
	_ adminapi.NodeCalls     = (*nodes)(nil)
	_ adminapi.Fabrics       = networks{}
	_ adminapi.FabricTests   = (*nodes)(nil)
	_ adminapi.Collector     = (*nodes)(nil)
	_ adminapi.Upgrades      = (*nodes)(nil)
	_ adminapi.Statics       = statics{}
	_ adminapi.Choices       = choices{}
	_ adminapi.Keys          = (*keys)(nil)
	_ adminapi.Authenticator = (*auth.Bearer)(nil)
	_ control.Catalog        = (*catalog.Service)(nil)
	_ control.Fleet          = (*inventory.Registry)(nil)
	_ control.Dispatcher     = (*hub.Hub)(nil)
	_ control.Assignments    = storage.Store(nil)
	_ control.Traffic        = (*traffic)(nil)
	_ storage.Journal        = (*journalfile.Journal)(nil)
	_ survey.Fleet           = (*inventory.Registry)(nil)
	_ survey.Asker           = (*hub.Hub)(nil)
	_ hub.Registry           = (*inventory.Registry)(nil)
	_ hub.Enrolment          = enrolment{}
	_ router.Models          = (*catalog.Service)(nil)
	_ router.Keys            = storage.Store(nil)
	_ router.Usage           = storage.Store(nil)
	_ router.Backends        = (*backends)(nil)
	_ router.Prospects       = (*backends)(nil)
	_ router.Demand          = (*backends)(nil)
)

// New loads what is kept and wires the parts. It starts nothing: see Run and
// ListenAndServe.
func New(ctx context.Context, cfg Config) (*ControlPlane, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &ControlPlane{cfg: cfg, logger: cfg.Logger, started: time.Now()}
	for _, step := range []func(context.Context) error{
		c.wireInspector, c.wireCatalog, c.wireRegistry, c.wireHub, c.wireSurvey, c.wireJournal, c.wireLoop, c.wireRouter, c.wireAdmin,
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (cfg Config) withDefaults() (Config, error) {
	var all []error
	if cfg.Store == nil {
		all = append(all, errors.New("llmgw: Config.Store is missing; use bunstore.Open, or memstore.New to keep nothing"))
	}
	if len(cfg.Pepper) == 0 {
		all = append(all, errors.New("llmgw: Config.Pepper is missing; use LoadPepper, or storage.NewPepper to keep nothing"))
	}
	if cfg.Version == "" {
		cfg.Version = "dev"
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Settings.Cluster.Name == "" {
		cfg.Settings.Cluster.Name = "llmgw"
	}
	if cfg.Holder == "" {
		cfg.Holder = holder(cfg.DataDir)
	}
	return cfg, errors.Join(all...)
}

// holder names this process so that one which comes back at the same place
// takes its own lease over at once.
func holder(dataDir string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	if dataDir == "" {
		_, once := storage.NewKeySecret()
		dataDir = once[len(once)-8:]
	}
	return host + ":" + dataDir
}

func (c *ControlPlane) wireCatalog(ctx context.Context) (err error) {
	cfg := catalog.ServiceConfig{
		Store: c.cfg.Store, Declared: c.cfg.Settings.Models, ClassAliases: c.cfg.Settings.ClassAliases, Logger: c.logger,
	}
	if c.inspector != nil {
		cfg.Inspector = c.inspector
	}
	c.catalog, err = catalog.NewService(ctx, cfg)
	return err
}

func (c *ControlPlane) wireRegistry(ctx context.Context) (err error) {
	l := c.cfg.Settings.Limits
	c.registry, err = inventory.NewRegistry(ctx, inventory.RegistryConfig{
		Store: c.cfg.Store, Holds: c.cfg.Store, ClassAliases: c.cfg.Settings.ClassAliases, Fabrics: c.cfg.Settings.Fabrics, Logger: c.logger,
		UnreachableAfter: time.Duration(l.NodeUnreachable), LostAfter: time.Duration(l.NodeLost),
		Cut: func(id inventory.NodeID) { c.hub.Revoke(id) },
	}, c.started)
	return err
}

func (c *ControlPlane) wireHub(ctx context.Context) error {
	cert, key, err := c.cfg.Store.Authority(ctx, func() ([]byte, []byte, error) {
		ca, err := pki.NewCA(c.cfg.Settings.Cluster.Name, c.started)
		if err != nil {
			return nil, nil, err
		}
		return ca.CertPEM(), ca.KeyPEM(), nil
	})
	if err != nil {
		return fmt.Errorf("load the cluster's authority: %w", err)
	}
	if c.ca, err = pki.ParseCA(cert, key); err != nil {
		return fmt.Errorf("the cluster's authority in the store is damaged; restore it from a backup: %w", err)
	}
	if name := c.ca.Cluster(); name != c.cfg.Settings.Cluster.Name {
		return fmt.Errorf("the store belongs to cluster %q, the configuration names %q; set cluster.name to the former", name, c.cfg.Settings.Cluster.Name)
	}
	prefetches := func(fleet *inventory.Snapshot) []reconciler.Prefetch {
		return reconciler.Prefetches(c.catalog.Index(), fleet)
	}
	c.hub, err = hub.New(hub.Config{
		Prefetches: prefetches,
		Registry:   c.registry, Enrolment: enrolment{c.cfg.Store}, CA: c.ca, EngineKey: c.cfg.Pepper.EngineKey,
		Control: c.cfg.Settings.Listen.Agents.reachedAt(defaultAgents), Cut: c.cutOff, Logger: c.logger,
	})
	return err
}

func (c *ControlPlane) wireLoop(context.Context) (err error) {
	events, led := c.cfg.Events, c.cfg.Events.Led
	events.Led = func(epoch int64, leading bool) {
		c.leading.Store(leading)
		if led != nil {
			led(epoch, leading)
		}
	}
	c.loop, err = control.New(control.Config{
		Catalog: c.catalog, Fleet: c.registry, Dispatcher: c.hub, Assignments: c.cfg.Store, Traffic: &traffic{c},
		Events: events, Journal: c.cfg.Journal, Placer: c.cfg.Placer, Moves: c.cfg.Settings.Limits.Moves, Holder: c.cfg.Holder, Logger: c.logger,
	})
	return err
}

func (c *ControlPlane) wireRouter(context.Context) (err error) {
	c.fleet = &backends{loop: c.loop, engineKey: c.cfg.Pepper.EngineKey, started: c.started, removed: map[inventory.NodeID]time.Time{}}
	rc := routerConfig(c.cfg)
	rc.Models, rc.Keys, rc.Usage = c.catalog, c.cfg.Store, c.cfg.Store
	rc.Gate = (&gates{ca: c.ca, revoked: c.hub.Revoked}).to
	rc.Backends, rc.Prospects, rc.Demand, rc.Ready = c.fleet, c.fleet, c.fleet, c.ready
	c.router, err = router.New(rc)
	return err
}

// routerConfig is the part of a router's configuration that settings decide.
func routerConfig(cfg Config) router.Config {
	l := cfg.Settings.Limits
	rc := router.Config{
		Declared: cfg.Settings.declaredKeys(), Pepper: cfg.Pepper, TrustedProxies: cfg.Settings.Listen.Client.TrustedProxies,
		Upstream: cfg.Upstream, Logger: cfg.Logger, MeterProvider: cfg.MeterProvider, TracerProvider: cfg.TracerProvider, AccessLog: cfg.Settings.Log.Access,
		Limits: router.Limits{
			Body: l.Body, Queue: l.Queue, ColdWait: time.Duration(l.ColdWait), Retries: l.Retries,
			Connect: time.Duration(l.Connect), FirstToken: time.Duration(l.FirstToken), Idle: time.Duration(l.Idle),
			Total: time.Duration(l.Total), Heartbeat: time.Duration(l.Heartbeat),
		},
	}
	if cfg.DataDir != "" {
		rc.Dir = filepath.Join(cfg.DataDir, "usage")
	}
	return rc
}

func (c *ControlPlane) wireAdmin(context.Context) (err error) {
	authenticator, err := c.authenticator()
	if err != nil {
		return err
	}
	n := &nodes{Registry: c.registry, hub: c.hub}
	cfg := adminapi.Config{
		Auth: authenticator, Models: c.catalog, Cluster: c.loop, Operator: c.loop, Nodes: n, NodeCalls: n, Fabrics: networks{c.survey},
		Usage: c.cfg.Store, Keys: &keys{c.cfg.Store, c.cfg.Settings.declaredKeys(), c.router}, Audit: c.cfg.Store, AdminTokens: c.cfg.Store,
		JoinTokens: c.cfg.Store, NewJoinToken: c.newJoinToken, Pepper: c.cfg.Pepper, EngineKey: c.cfg.Pepper.EngineKey,
		Statics: statics{c.router, c.catalog}, Choices: choices{c.router}, Store: c.cfg.Store, Leader: c.leader, Hosts: c.cfg.Settings.Listen.Admin.Names,
		Metrics: c.cfg.Metrics,
		Version: c.cfg.Version, Started: c.started, Logger: c.logger,
	}
	if c.inspector != nil {
		cfg.Looks = looks{c.inspector}
	}
	c.admin, err = adminapi.New(cfg)
	return err
}

func (c *ControlPlane) authenticator() (adminapi.Authenticator, error) {
	switch {
	case c.cfg.Auth != nil:
		return c.cfg.Auth, nil
	case c.cfg.InsecureAdmin:
		address := c.cfg.Settings.Listen.Admin.Address
		if address == "" {
			address = defaultAdmin
		}
		return auth.NewInsecure(address)
	}
	return auth.New(auth.Config{Tokens: c.cfg.Store, Pepper: c.cfg.Pepper, Logger: c.logger})
}

// cutOff has the router let go of a node that was removed.
func (c *ControlPlane) cutOff(node inventory.NodeID) {
	c.fleet.cut(node, time.Now())
	c.router.Cut(string(node))
}

// Admin is the admin API, whole: mount it at "/" of a server of your own.
func (c *ControlPlane) Admin() http.Handler { return c.admin }

// OpenAI is the router: what clients speak to.
func (c *ControlPlane) OpenAI() http.Handler { return c.router }

// Catalog is the service that changes models.
func (c *ControlPlane) Catalog() *catalog.Service { return c.catalog }

// Hub is the control plane's end of the agents.
func (c *ControlPlane) Hub() *hub.Hub { return c.hub }

// Reload takes a new configuration file: its models are put in force, whole or
// not at all, and what changed is said line by line. Everything else in it needs
// a restart.
func (c *ControlPlane) Reload(f File) (changes []string, err error) {
	return c.catalog.Reload(f.Models)
}

// ready says why this process should not get requests yet.
func (c *ControlPlane) ready() error {
	if c.loop.View().Epoch == 0 {
		return errors.New("the control loop has not looked at the cluster yet")
	}
	return nil
}

// leader names who leads, as far as this process knows: it knows of itself.
func (c *ControlPlane) leader() string {
	if !c.leading.Load() {
		return ""
	}
	return c.cfg.Holder
}
