package llmgw

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/adminapi"
	"llmgw.io/llmgw/adminapi/adminclient"
	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/agent/hub"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/internal/pki"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/control"
	"llmgw.io/llmgw/router"
	"llmgw.io/llmgw/storage"
	"llmgw.io/llmgw/storage/memstore"
)

var tester = inventory.Author{Principal: "test"}

// plane makes a control plane that keeps nothing.
func plane(t *testing.T, change ...func(*Config)) *ControlPlane {
	t.Helper()
	cfg := Config{Store: memstore.New(), Pepper: storage.NewPepper(), Holder: "test"}
	for _, c := range change {
		c(&cfg)
	}
	c, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// runs runs a control plane until the test, or its bubble, ends.
func runs(t *testing.T, c *ControlPlane) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func tiny(least int) catalog.Model {
	return catalog.Model{
		Name: "tiny", Source: "file:///srv/tiny.gguf", Scaling: &catalog.Scaling{Min: least, Max: &least},
		Profiles: []catalog.Profile{{Name: "cpu", Engine: catalog.EngineLlamaCPP, MemoryGB: 1, Slots: 2}},
	}
}

func TestNewComplainsOfAllAtOnce(t *testing.T) {
	t.Parallel()
	_, err := New(t.Context(), Config{})
	for _, want := range []string{"Config.Store", "Config.Pepper"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not complained of in: %v", want, err)
		}
	}
	_, err = New(t.Context(), Config{Store: memstore.New(), Pepper: storage.NewPepper(), InsecureAdmin: true, Settings: File{
		Listen: ListenFile{Admin: Listener{Address: "0.0.0.0:7070"}},
	}})
	if err == nil || !strings.Contains(err.Error(), "loopback") {
		t.Errorf("an open admin API beyond loopback must be refused, got %v", err)
	}
}

// TestClusterName shows that a store is not taken for another cluster's.
func TestClusterName(t *testing.T) {
	t.Parallel()
	store := memstore.New()
	named := func(name string) func(*Config) {
		return func(c *Config) { c.Store, c.Settings.Cluster.Name = store, name }
	}
	plane(t, named("lab"))
	cfg := Config{Store: store, Pepper: storage.NewPepper()}
	named("other")(&cfg)
	if _, err := New(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), `"lab"`) {
		t.Errorf("want an error that names the cluster of the store, got %v", err)
	}
}

// TestTwoInOneProcess shows that control planes share nothing: each leads its
// own cluster, and knows its own models only.
func TestTwoInOneProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var led sync.Map
		named := func(name string) *ControlPlane {
			return plane(t, func(c *Config) {
				c.Holder, c.Settings.Cluster.Name = name, name
				c.Events = control.Events{Led: func(_ int64, leading bool) { led.Store(name, leading) }}
			})
		}
		a, b := named("a"), named("b")
		stopA, stopB := runs(t, a), runs(t, b)
		defer stopB()
		if _, err := a.Catalog().Add(t.Context(), tiny(1), tester); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		toldA, _ := led.Load("a")
		toldB, _ := led.Load("b")
		if a.leader() != "a" || b.leader() != "b" || toldA != true || toldB != true {
			t.Errorf("want each to lead, got %q and %q, told %v and %v", a.leader(), b.leader(), toldA, toldB)
		}
		if n := len(b.Catalog().Index().Entries()); n != 0 {
			t.Errorf("want no model in the other one, got %d", n)
		}
		stopA()
		synctest.Wait()
		if a.leader() != "" || b.leader() != "b" {
			t.Errorf("want the one that ended to lead no more, got %q and %q", a.leader(), b.leader())
		}
	})
}

func TestSlotsOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p    catalog.Profile
		want int
	}{
		{catalog.Profile{Engine: catalog.EngineLlamaCPP, Slots: 2, Context: 512}, 2},
		{catalog.Profile{Engine: catalog.EngineLlamaCPP, Context: 512}, 1},
		{catalog.Profile{Engine: catalog.EngineLlamaCPP}, 4},
		{catalog.Profile{Engine: catalog.EngineSim}, 0},
		{catalog.Profile{Engine: catalog.EngineSim, Slots: 7}, 7},
	} {
		if got := slotsOf(&c.p); got != c.want {
			t.Errorf("%s, slots %d, context %d: the router is told of %d slots, want %d", c.p.Engine, c.p.Slots, c.p.Context, got, c.want)
		}
	}
}

// TestBackends follows a replica through the eyes of the router.
func TestBackends(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := plane(t)
		defer runs(t, c)()
		if _, err := c.Catalog().Add(t.Context(), tiny(1), tester); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // a pass that began just before is followed by a pause
		if why, hopeless := c.fleet.Status("tiny"); why == "" || hopeless {
			t.Errorf("nodes may be on their way still: want a reason and hope, got %q, %t", why, hopeless)
		}
		time.Sleep(settling + time.Second)
		if why, hopeless := c.fleet.Status("tiny"); why == "" || !hopeless {
			t.Errorf("no node came: want a reason and no hope, got %q, %t", why, hopeless)
		}
		facts := inventory.Facts{MemoryMB: 16 << 10, CPUs: 4, Engines: []inventory.Engine{{Name: "llamacpp"}}}
		beat := func(state inventory.ShardState) {
			t.Helper()
			rep := inventory.Report{Facts: &facts, Whole: true, At: time.Now()}
			for _, r := range c.loop.View().Replicas {
				rep.Shards = append(rep.Shards, inventory.ShardStatus{ID: string(r.Shards[0].ID), State: state, Address: "127.0.0.1:20001"})
			}
			c.registry.Apply("a1", rep, time.Now())
			time.Sleep(time.Second)
			synctest.Wait()
		}
		beat("")
		if got := c.fleet.Backends("tiny"); len(c.loop.View().Replicas) != 1 || len(got) != 0 {
			t.Errorf("want a replica that is not ready to be no backend, got %+v", got)
		}
		beat(inventory.ShardReady)
		id := string(c.loop.View().Replicas[0].ID)
		want := router.Backend{ID: id, Model: "tiny", Address: "127.0.0.1:20001", Key: c.cfg.Pepper.EngineKey(id), Slots: 2}
		if got := c.fleet.Backends("tiny"); len(got) != 1 || got[0].Address != want.Address || got[0].Key != want.Key || got[0].Slots != want.Slots || got[0].Unreachable || got[0].Draining {
			t.Errorf("want %+v, got %+v", want, got)
		}
		time.Sleep(20 * time.Second)
		if got := c.fleet.Backends("tiny"); len(got) != 1 || !got[0].Unreachable {
			t.Errorf("want a replica on a silent node as the last choice, got %+v", got)
		}
		beat(inventory.ShardReady)
		none := catalog.Scaling{Max: new(int)}
		if _, err := c.Catalog().Change(t.Context(), "tiny", catalog.Change{Scaling: &none}, nil, tester); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := c.fleet.Backends("tiny"); len(got) != 1 || !got[0].Draining {
			t.Errorf("want a replica that drains to be marked, got %+v", got)
		}
	})
}

// TestBackendsOfARemovedNode shows that requests are sent to a removed node no more
// from the removal on, and to a new member of its name as soon as that is heard.
func TestBackendsOfARemovedNode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := plane(t)
		defer runs(t, c)()
		if _, err := c.Catalog().Add(t.Context(), tiny(1), tester); err != nil {
			t.Fatal(err)
		}
		facts := inventory.Facts{MemoryMB: 16 << 10, CPUs: 4, Engines: []inventory.Engine{{Name: "llamacpp"}}}
		beat := func() {
			t.Helper()
			rep := inventory.Report{Facts: &facts, Whole: true, At: time.Now()}
			for _, r := range c.loop.View().Replicas {
				rep.Shards = append(rep.Shards, inventory.ShardStatus{ID: string(r.Shards[0].ID), State: inventory.ShardReady, Address: "10.0.0.1:19001", Gate: true})
			}
			c.registry.Apply("a1", rep, time.Now())
			time.Sleep(time.Second)
			synctest.Wait()
		}
		beat()
		beat()
		got := c.fleet.Backends("tiny")
		if len(got) != 1 || got[0].Node != "a1" || got[0].Address != router.GateAddress("a1", "10.0.0.1:19001") || got[0].Key != "" {
			t.Fatalf("before: %+v", got)
		}
		time.Sleep(20 * time.Second) // it is silent
		c.cutOff("a1")
		if got := c.fleet.Backends("tiny"); len(got) != 0 {
			t.Errorf("its certificates are revoked, and it is listed: %+v", got)
		}
		beat()
		if got := c.fleet.Backends("tiny"); len(got) != 1 {
			t.Errorf("it is heard again, and not listed")
		}
		time.Sleep(2 * time.Minute)
		if got := c.fleet.Backends("tiny"); len(got) != 1 || !got[0].Unreachable {
			t.Errorf("a lost node: %+v", got)
		}
		view := c.loop.View()
		if err := c.registry.Forget(t.Context(), "a1", tester); err != nil {
			t.Fatal(err)
		}
		if got := c.fleet.Backends("tiny"); len(got) != 0 {
			t.Errorf("it is removed, and listed: %+v", got)
		}
		if view != c.loop.View() {
			t.Log("the loop was quicker than the test, which shows less then")
		}
	})
}

// TestUnanswered shows that each way in which an agent does not answer has the
// status that the admin API promises for it.
func TestUnanswered(t *testing.T) {
	t.Parallel()
	old := &inventory.Node{}
	able := &inventory.Node{Facts: inventory.Facts{Features: []string{string(protocol.AskLogs)}}}
	for _, c := range []struct {
		node *inventory.Node
		err  error
		want error
	}{
		{nil, hub.ErrNoNode, inventory.ErrNotFound},
		{able, hub.ErrTimeout, context.DeadlineExceeded},
		{able, hub.ErrBusy, adminapi.ErrBusy},
		{able, hub.ErrNoLog, adminapi.ErrNoLog},
		{old, hub.ErrRefused, adminapi.ErrUnsupported},
		{able, hub.ErrAway, hub.ErrAway},
	} {
		err := unanswered(c.node, protocol.AskLogs, fmt.Errorf("ask: %w", c.err))
		if !errors.Is(err, c.want) || !errors.Is(err, c.err) {
			t.Errorf("%v: want it to match %v, got %v", c.err, c.want, err)
		}
	}
	if err := unanswered(able, protocol.AskLogs, hub.ErrRefused); errors.Is(err, adminapi.ErrUnsupported) {
		t.Error("an agent that refuses is not too old")
	}
}

// TestDeclaredKeys shows that keys of the configuration file are listed with the
// others, and are that file's alone to change.
func TestDeclaredKeys(t *testing.T) {
	t.Parallel()
	id, secret := storage.NewKeySecret()
	pepper := storage.NewPepper()
	c := plane(t, func(c *Config) {
		c.Pepper, c.InsecureAdmin = pepper, true
		c.Settings.Keys = []KeyFile{{Name: "ci", ID: id, Hash: pepper.Hash(secret)}}
	})
	srv := httptest.NewServer(c.Admin())
	defer srv.Close()
	client, err := adminclient.New(adminclient.Config{BaseURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	made, err := client.CreateKey(t.Context(), view.KeyRequest{Name: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	keys, _, err := client.Keys(t.Context(), adminclient.List{})
	if err != nil || len(keys) != 2 {
		t.Fatalf("want both keys, got %+v, %v", keys, err)
	}
	for _, k := range keys {
		if k.Declared != (k.ID == id) {
			t.Errorf("want only %s declared, got %+v", id, k)
		}
	}
	w := httptest.NewRecorder()
	c.Admin().ServeHTTP(w, fromHere(httptest.NewRequest(http.MethodGet, "http://127.0.0.1/api/v1/keys", nil)))
	if strings.Contains(w.Body.String(), "0001-01-01") {
		t.Errorf("a time that nobody said is no time, got %s", w.Body)
	}
	var refused *adminclient.Error
	if _, err := client.RevokeKey(t.Context(), id); !errors.As(err, &refused) || refused.Status != http.StatusConflict || refused.Code != "read_only" {
		t.Errorf("want 409 read_only for a declared key, got %v", err)
	}
	if _, err := client.RevokeKey(t.Context(), made.ID); err != nil {
		t.Errorf("the other one is kept here: %v", err)
	}
}

// fromHere makes a request come from this machine.
func fromHere(r *http.Request) *http.Request {
	r.RemoteAddr = "127.0.0.1:50000"
	return r
}

// TestReload shows that a file's models are put in force whole or not at all.
func TestReload(t *testing.T) {
	t.Parallel()
	c := plane(t)
	read := func(text string) File {
		t.Helper()
		f, err := ParseFile([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	good := read("models: [{name: tiny, source: 'file:///srv/tiny.gguf', profiles: [{name: cpu, engine: llamacpp, min_memory_gb: 1}]}]")
	if changes, err := c.Reload(good); err != nil || len(changes) != 1 || !strings.Contains(changes[0], "tiny") {
		t.Errorf("want one change told, got %q, %v", changes, err)
	}
	if changes, err := c.Reload(good); err != nil || len(changes) != 0 {
		t.Errorf("want nothing changed by the same file, got %q, %v", changes, err)
	}
	if _, err := c.Reload(read("models: [{name: other, source: 'file:///srv/o.gguf', profiles: [{name: cpu, engine: none}]}]")); err == nil {
		t.Error("a wrong definition was taken")
	}
	if e, ok := c.Catalog().Index().Get("tiny"); !ok || !e.Declared {
		t.Errorf("a file that was refused must change nothing, got %+v", e)
	}
}

// TestListenAndServe is a process's life: it listens, answers on every listener,
// and ends cleanly while somebody still waits.
func TestListenAndServe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	free := Listener{Address: "127.0.0.1:0"}
	c := plane(t, func(c *Config) {
		c.DataDir, c.Settings.Listen = dir, ListenFile{Client: free, Admin: free, Agents: free}
	})
	ctx, end := context.WithCancel(t.Context())
	listens, done := make(chan Addresses, 1), make(chan error, 1)
	go func() { done <- c.ListenAndServe(ctx, func(a Addresses) { listens <- a }) }()
	a := <-listens
	cluster, err := pki.JoinTLS(c.ca.Pin(), time.Now) // as a machine that has not joined yet
	if err != nil {
		t.Fatal(err)
	}
	agents := &http.Client{Transport: &http.Transport{TLSClientConfig: cluster, DisableKeepAlives: true, ForceAttemptHTTP2: true}}
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for name, at := range map[string]struct {
		client *http.Client
		url    string
	}{"client": {web, a.Client}, "admin": {web, a.Admin}, "agents": {agents, a.Agents}} {
		resp, err := at.client.Get(at.url + "/healthz")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: want 200 from /healthz, got %d", name, resp.StatusCode)
		}
	}
	var noted Addresses
	if err := json.Unmarshal(mustRead(t, filepath.Join(dir, AddressesFile)), &noted); err != nil || noted != a {
		t.Errorf("want the addresses written down, got %+v, %v", noted, err)
	}
	end()
	if err := <-done; err != nil {
		t.Errorf("want a clean end, got %v", err)
	}
	if _, err := web.Get(a.Client + "/healthz"); err == nil {
		t.Error("it answers after its end")
	}
}

// TestListenAndServeWhole shows that a listener which cannot be had closes the
// others, and is named.
func TestListenAndServeWhole(t *testing.T) {
	t.Parallel()
	taken := opens(t)
	defer taken.Close()
	free := Listener{Address: "127.0.0.1:0"}
	c := plane(t, func(c *Config) {
		c.Settings.Listen = ListenFile{Client: free, Admin: Listener{Address: taken.Addr().String()}, Agents: free}
	})
	err := c.ListenAndServe(t.Context(), func(Addresses) { t.Error("it was said to listen") })
	if err == nil || !strings.Contains(err.Error(), "listen.admin.address") {
		t.Errorf("want an error that names the setting, got %v", err)
	}
}

// TestAdminNames shows that the admin API answers to the names it is given.
func TestAdminNames(t *testing.T) {
	t.Parallel()
	f, err := ParseFile([]byte("listen: {admin: {names: [ops.example.org]}, agents: {address: ':7443', names: [ctl.example.org, 10.0.0.1]}}"))
	if err != nil {
		t.Fatal(err)
	}
	c := plane(t, func(c *Config) { c.Settings = f })
	for host, want := range map[string]int{"ops.example.org": http.StatusUnauthorized, "evil.example.org": http.StatusForbidden} {
		w := httptest.NewRecorder()
		c.Admin().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://"+host+"/api/v1/summary", nil))
		if w.Code != want {
			t.Errorf("%s: want %d, got %d %s", host, want, w.Code, w.Body)
		}
	}
	if got := f.Listen.Agents.reachedAt(defaultAgents); len(got) != 2 || got[0] != "https://ctl.example.org:7443" {
		t.Errorf("want the addresses that nodes are told, got %q", got)
	}
}
