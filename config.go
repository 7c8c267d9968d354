package llmgw

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

// File is the configuration file, llmgw.yaml. It is read strictly: a key that is
// not known, or that stands there twice, refuses the whole file with its line.
type File struct {
	Cluster ClusterFile `json:"cluster,omitempty"`
	Listen  ListenFile  `json:"listen,omitempty"`
	Store   StoreFile   `json:"store,omitempty"`
	Secrets SecretsFile `json:"secrets,omitempty"`
	// DataDir is where everything of this process is kept. Empty: /var/lib/llmgw
	// as root, else llmgw under the user's state folder.
	DataDir string  `json:"data_dir,omitempty"`
	Log     LogFile `json:"log,omitempty"`
	// OTel is where metrics and traces are sent.
	OTel OTelFile `json:"otel,omitempty"`
	// ClassAliases are other names for classes of devices, by alias:
	// {h100: H100-80}. A profile may ask by one and a node may report one; answers
	// name the class.
	ClassAliases inventory.ClassAliases `json:"class_aliases,omitempty"`
	// Fabrics name the networks between nodes, for profiles and for people:
	// [{name: ib0, match: "hca=mlx5_*,rack=r1*"}]. The first rule that matches a port
	// names it; see [inventory.FabricRule].
	Fabrics []inventory.FabricRule `json:"fabrics,omitempty"`
	// Weights says how weights are looked into before a definition is taken.
	Weights WeightsFile `json:"weights,omitempty"`
	// Models are declared: read-only over the API.
	Models []catalog.Model `json:"models,omitempty"`
	// Keys are declared client keys.
	Keys   []KeyFile `json:"keys,omitempty"`
	Limits Limits    `json:"limits,omitempty"`
	Debug  DebugFile `json:"debug,omitempty"`
}

// ClusterFile names the cluster.
type ClusterFile struct {
	// Name is in every certificate. Default "llmgw".
	Name string `json:"name,omitempty"`
	// Currency is the one that prices are in, for people. Default "USD".
	Currency string `json:"currency,omitempty"`
}

// ListenFile has the three listeners.
type ListenFile struct {
	// Client is where requests come in. Default ":8080".
	Client Listener `json:"client,omitempty"`
	// Admin is where people and their tools come in. Default "127.0.0.1:7070".
	Admin Listener `json:"admin,omitempty"`
	// Agents is where nodes come in, over mutual TLS of the cluster's own
	// certificates; tls may not be set. Default ":7443".
	Agents Listener `json:"agents,omitempty"`
}

// Listener is one address to listen at.
type Listener struct {
	// Address is "host:port". Empty: the default.
	Address string `json:"address,omitempty"`
	// TLS absent means plain HTTP.
	TLS *TLSFile `json:"tls,omitempty"`
	// TrustedProxies are networks whose X-Forwarded-For is believed. Empty: none.
	// Clients' listener only: the others go by the connection's own address.
	TrustedProxies []netip.Prefix `json:"trusted_proxies,omitempty"`
	// Names are host names and addresses that this listener is reached by. The
	// agents' are put into its certificate and told to nodes that join; the admin
	// API answers to its own beside localhost and addresses. The clients' listener
	// has none: it answers to any.
	Names []string `json:"names,omitempty"`
}

// reachedAt are the addresses that names stand for. Nil: there are none, or the
// port is not known before it is opened.
func (l *Listener) reachedAt(address string) []string {
	if l.Address != "" {
		address = l.Address
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil || port == "0" {
		return nil
	}
	var out []string
	for _, name := range l.Names {
		out = append(out, "https://"+net.JoinHostPort(name, port))
	}
	return out
}

// TLSFile names a certificate and its key; both are read again when they change.
type TLSFile struct {
	Cert string `json:"cert"`
	Key  string `json:"key"`
}

// StoreFile says where rows are kept.
type StoreFile struct {
	// DSN is the path of an SQLite file, or postgres://…. Empty: llmgw.db in the
	// data folder.
	DSN string `json:"dsn,omitempty"`
}

// SecretsFile says where the pepper is.
type SecretsFile struct {
	// KeyFile holds the secret under which keys are hashed, mode 0600. Empty:
	// "pepper" in the data folder, made when it is not there.
	KeyFile string `json:"key_file,omitempty"`
}

// LogFile says what is logged.
type LogFile struct {
	// Level is debug, info (default), warn or error.
	Level string `json:"level,omitempty"`
	// Format is json (default) or text.
	Format string `json:"format,omitempty"`
	// Access writes a line for every request; it names no prompt and no key.
	Access bool `json:"access,omitempty"`
}

// OTelFile says where metrics and traces are sent. Metrics can be scraped from
// the admin listener at /metrics whatever stands here.
type OTelFile struct {
	// Endpoint is the base URL of a collector that takes OTLP over HTTP, such as
	// "http://collector:4318". Empty: nothing is sent, and nothing is traced.
	Endpoint string `json:"endpoint,omitempty"`
	// Headers go with everything that is sent.
	Headers map[string]string `json:"headers,omitempty"`
	// Sample is the share of traces kept of those that begin here, above 0 up to
	// 1. Zero: all.
	Sample float64 `json:"sample,omitempty"`
}

// KeyFile declares a client key: its hash as "llmgw-control token hash" prints
// it, never the key itself.
type KeyFile struct {
	Name string `json:"name"`
	// ID is the part of the key that names it.
	ID      string   `json:"id"`
	Hash    string   `json:"hash"`
	Project string   `json:"project,omitempty"`
	Models  []string `json:"models,omitempty"`
}

// DebugFile opens what only developers need.
type DebugFile struct {
	// PProf serves net/http/pprof at this address, loopback only. Empty: off.
	PProf string `json:"pprof,omitempty"`
}

// Limits are numbers an operator may change. Zero means the default beside it.
type Limits struct {
	// Body is the largest request, in bytes. Default 32 MiB.
	Body int64 `json:"body,omitempty"`
	// Queue is how many requests may wait for one model. Default 1000.
	Queue int `json:"queue,omitempty"`
	// ColdWait is how long a request waits for a replica that is being started.
	// Default 10 minutes.
	ColdWait catalog.Duration `json:"cold_wait,omitempty"`
	// Retries is how often another replica is tried. Default 2; -1: never.
	Retries int `json:"retries,omitempty"`
	// Connect, FirstToken, Idle and Total bound one attempt. Default 2 seconds,
	// 10 minutes, 2 minutes, 1 hour.
	Connect    catalog.Duration `json:"connect,omitempty"`
	FirstToken catalog.Duration `json:"first_token,omitempty"`
	Idle       catalog.Duration `json:"idle,omitempty"`
	Total      catalog.Duration `json:"total,omitempty"`
	// Heartbeat is after how much silence a stream's client hears a comment.
	// Default 15 seconds.
	Heartbeat catalog.Duration `json:"heartbeat,omitempty"`
	// NodeUnreachable and NodeLost are silences of agents. Default 15 and 60
	// seconds.
	NodeUnreachable catalog.Duration `json:"node_unreachable,omitempty"`
	NodeLost        catalog.Duration `json:"node_lost,omitempty"`
	// Moves is how many percent of the replicas may be moved elsewhere in an hour,
	// replacement first, so that what was refused gets room. Default 0: none; 2 is
	// enough for most.
	Moves float64 `json:"moves,omitempty"`
	// Journal is how long decisions are kept with what they rest on. Default 14
	// days; -1: none are.
	Journal catalog.Duration `json:"journal,omitempty"`
}

// LoadFile reads a configuration file.
func LoadFile(path string) (File, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return File{}, fmt.Errorf("read the configuration file: %w", err)
	}
	f, err := ParseFile(b)
	if err != nil {
		return File{}, fmt.Errorf("configuration file %s: %w", path, err)
	}
	return f, nil
}

// ParseFile reads a configuration and checks all of it but the models, which
// the catalog checks. An empty one is sound: everything has a default.
func ParseFile(b []byte) (File, error) {
	var f File
	err := yaml.UnmarshalWithOptions(b, &f, yaml.Strict(), yaml.UseJSONUnmarshaler())
	if err != nil && strings.TrimSpace(string(b)) != "" {
		return File{}, errors.New(strings.TrimSpace(yaml.FormatError(err, false, true)))
	}
	return f, f.Check()
}

// Check returns every complaint about the settings at once, but for those about
// models, which are the catalog's. Callers that change a file's settings check
// it again.
func (f *File) Check() error {
	var all []error
	add := func(format string, args ...any) { all = append(all, fmt.Errorf(format, args...)) }
	for _, named := range []struct {
		name string
		Listener
	}{{"client", f.Listen.Client}, {"admin", f.Listen.Admin}, {"agents", f.Listen.Agents}} {
		name, l := named.name, named.Listener
		if l.Address != "" {
			if _, _, err := net.SplitHostPort(l.Address); err != nil {
				add("listen.%s.address: %q is no address; write host:port, or :port for all", name, l.Address)
			}
		}
		if l.TLS != nil && (l.TLS.Cert == "" || l.TLS.Key == "") {
			add("listen.%s.tls: name both cert and key", name)
		}
		if len(l.TrustedProxies) > 0 && name != "client" {
			add("listen.%s.trusted_proxies: only clients may come in through proxies; leave it out", name)
		}
		if len(l.Names) > 0 && name == "client" {
			add("listen.client.names: clients may come in by any name; leave it out")
		}
	}
	if f.Listen.Agents.TLS != nil {
		add("listen.agents.tls: agents trust the cluster's own certificates only; leave tls out")
	}
	if _, err := f.Log.Logger(io.Discard); err != nil {
		all = append(all, err)
	}
	if host, _, err := net.SplitHostPort(f.Debug.PProf); f.Debug.PProf != "" && (err != nil || !loopback(host)) {
		add("debug.pprof: %q must be an address on loopback, such as 127.0.0.1:6060", f.Debug.PProf)
	}
	if err := catalog.CheckClassAliases(f.ClassAliases); err != nil {
		all = append(all, err)
	}
	if _, err := inventory.NewFabricNames(f.Fabrics); err != nil {
		all = append(all, err)
	}
	if err := f.Weights.check(); err != nil {
		all = append(all, err)
	}
	all = append(all, f.checkKeys()...)
	return errors.Join(append(all, f.Limits.check()...)...)
}

func (f *File) checkKeys() []error {
	var all []error
	seen := map[string]bool{}
	for i, k := range f.Keys {
		at := fmt.Sprintf("keys[%d]", i)
		if _, err := hex.DecodeString(k.Hash); err != nil || len(k.ID) != 10 || len(k.Hash) != 64 {
			all = append(all, fmt.Errorf("%s: id and hash are as \"llmgw-control token hash\" prints them", at))
		}
		if seen[k.ID] {
			all = append(all, fmt.Errorf("%s: the id %q is declared twice", at, k.ID))
		}
		seen[k.ID] = true
	}
	return all
}

func (l *Limits) check() []error {
	var all []error
	for _, limit := range []struct {
		name  string
		value int64
	}{
		{"body", l.Body},
		{"queue", int64(l.Queue)},
		{"cold_wait", int64(l.ColdWait)},
		{"retries", int64(l.Retries) + 1},
		{"connect", int64(l.Connect)},
		{"first_token", int64(l.FirstToken)},
		{"idle", int64(l.Idle)},
		{"total", int64(l.Total)},
		{"heartbeat", int64(l.Heartbeat)},
		{"node_unreachable", int64(l.NodeUnreachable)},
		{"node_lost", int64(l.NodeLost)},
		{"journal", int64(l.Journal) + 1},
	} {
		if limit.value < 0 {
			all = append(all, fmt.Errorf("limits.%s: below zero; leave it out for the default", limit.name))
		}
	}
	if !(l.Moves >= 0 && l.Moves <= 100) {
		all = append(all, errors.New("limits.moves: a percentage of the replicas, from 0 to 100; leave it out to move none"))
	}
	if l.NodeLost > 0 && l.NodeUnreachable > l.NodeLost {
		all = append(all, errors.New("limits.node_lost: a node is unreachable before it is lost; raise it"))
	}
	return all
}

// Logger makes the logger that the settings describe.
func (l LogFile) Logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if l.Level != "" && level.UnmarshalText([]byte(l.Level)) != nil {
		return nil, fmt.Errorf("log.level: %q is no level; use debug, info, warn or error", l.Level)
	}
	switch l.Format {
	case "", "json":
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})), nil
	case "text":
		return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level})), nil
	}
	return nil, fmt.Errorf("log.format: %q is no format; use json or text", l.Format)
}

// declaredKeys are the file's keys as the router takes them.
func (f *File) declaredKeys() []storage.Key {
	out := make([]storage.Key, len(f.Keys))
	for i, k := range f.Keys {
		project := k.Project
		if project == "" {
			project = storage.DefaultProject
		}
		out[i] = storage.Key{ID: k.ID, Name: k.Name, Project: project, Hash: k.Hash, Models: k.Models, Declared: true}
	}
	return out
}

// DefaultDataDir is where a process keeps its things when nothing is said.
func DefaultDataDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/llmgw"
	}
	if dir := os.Getenv("XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, "llmgw")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = os.TempDir()
	}
	return filepath.Join(home, ".local", "state", "llmgw")
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// PepperFile is where the pepper is: named, or in the data folder.
func (f *File) PepperFile() string {
	if f.Secrets.KeyFile != "" {
		return f.Secrets.KeyFile
	}
	return filepath.Join(f.DataDir, "pepper")
}

// StoreDSN is where the store is: named, or in the data folder.
func (f *File) StoreDSN() string {
	if f.Store.DSN != "" {
		return f.Store.DSN
	}
	return filepath.Join(f.DataDir, "llmgw.db")
}
