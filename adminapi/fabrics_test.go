package adminapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/adminapi"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/fabrics"
	"llmgw.io/llmgw/inventory/topology"
	"llmgw.io/llmgw/storage"
)

// wired makes two nodes known that are on one InfiniBand network and on one of
// RoCE.
func (h *house) wired() {
	now := time.Now()
	for i, id := range []inventory.NodeID{"a1", "a2"} {
		h.registry.Apply(id, inventory.Report{Whole: true, At: now, Facts: &inventory.Facts{
			Devices: []inventory.Device{{Label: "0", Class: "GB200-186", Domain: "r1.1", FabricState: "completed", NUMA: -1}},
			IMEX:    []string{inventory.IMEXReady, "STOPPED"}[i],
			Ports: []inventory.Port{
				{HCA: "mlx5_0", Port: 1, State: "ACTIVE", PhysState: "LinkUp", Active: true, Fabric: "ib0", Physical: "sm:00000000000000aa", NodeGUID: fmt.Sprintf("000000000000000%d", i+1), SMLID: 7, RateGbps: 400},
				{HCA: "eth0", Port: 1, State: "ACTIVE", LinkLayer: "Ethernet", Active: true, Physical: "roce:10.1.2.0/24"},
			},
		}}, now)
	}
}

func backToBack() fabrics.Scan {
	return fabrics.Scan{At: time.Now(), By: "a1 mlx5_0/1", Took: 330 * time.Millisecond, Map: &topology.Map{
		Switches: []topology.Switch{},
		Hosts:    []topology.Host{{GUID: "0000000000000001", Name: "a1 mlx5_0"}, {GUID: "0000000000000009", Name: "stranger \x1b[2J"}},
		Links:    []topology.Link{{A: topology.End{GUID: "0000000000000001", Port: 1}, B: topology.End{GUID: "0000000000000009", Port: 1}, Width: 4, Speed: "HDR", Gbps: 200}},
	}}
}

func TestFabrics(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.wired()
	c := h.client(t, storage.RoleOperator)
	report, err := c.Fabrics(t.Context())
	if err != nil || len(report.Physical) != 2 || report.Physical[1].ID != "sm-00000000000000aa" || report.Physical[1].Nodes != 2 {
		t.Fatalf("want both networks, got %+v, %v", report, err)
	}
	for _, p := range report.Physical {
		top, err := c.Topology(t.Context(), p.ID)
		if err != nil || top.Key != p.Key || top.Map != nil || top.ScannedAt != "" || !strings.Contains(top.Error, "no map yet") {
			t.Errorf("want no map of %s yet, and told so, got %+v, %v", p.ID, top, err)
		}
	}
	if top, _ := c.Topology(t.Context(), "sm-00000000000000aa"); len(top.Live) != 2 || top.Live["0000000000000002"].Node != "a2" {
		t.Errorf("want what both adapters do, map or not, got %+v", top.Live)
	}
	_, err = c.Topology(t.Context(), "sm-bb")
	wantRefusal(t, err, http.StatusNotFound, "not_found", "ctl fabrics")
	h.fabrics.walk = func(key string) (fabrics.Scan, error) {
		if key != "sm:00000000000000aa" {
			t.Errorf("walked %s", key)
		}
		return backToBack(), nil
	}
	top, err := c.ScanFabric(t.Context(), "sm-00000000000000aa")
	if err != nil || top.Map == nil || top.TookMS != 330 || top.Error != "" || top.ScannedBy != "a1 mlx5_0/1" {
		t.Errorf("want the map, got %+v, %v", top, err)
	}
	if log, err := h.store.ListAudit(t.Context(), storage.AuditQuery{Object: "fabric:sm-00000000000000aa"}); err != nil || len(log) != 1 || log[0].Action != "fabrics.scan" {
		t.Errorf("want the order in the audit log, got %v, %v", log, err)
	}
	_, err = c.ScanFabric(t.Context(), "sm-bb")
	wantRefusal(t, err, http.StatusNotFound, "not_found", "no network")
}

func TestScansThatFail(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.wired()
	c := h.client(t, storage.RoleOwner)
	for _, x := range []struct {
		err    error
		status int
		code   string
		says   string
	}{
		{fmt.Errorf("%w: install infiniband-diags", fabrics.ErrNoScanner), http.StatusConflict, "unsupported", "install infiniband-diags"},
		{fmt.Errorf("%w: a1: discover failed", adminapi.ErrAgentFailed), http.StatusBadGateway, "agent_failed", "discover failed"},
		{adminapi.ErrBusy, http.StatusTooManyRequests, "rate_limited", "too many"},
		{context.DeadlineExceeded, http.StatusGatewayTimeout, "timeout", "in time"},
		{errors.New("secret"), http.StatusInternalServerError, "internal", "log"},
	} {
		h.fabrics.walk = func(string) (fabrics.Scan, error) { return fabrics.Scan{}, x.err }
		_, err := c.ScanFabric(t.Context(), "sm-00000000000000aa")
		wantRefusal(t, err, x.status, x.code, x.says)
	}
}

// Without a memory reports go by what nodes say now.
func TestFabricsWithoutAWatch(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(c *adminapi.Config) { c.Fabrics = nil })
	h.wired()
	c := h.client(t, storage.RoleOwner)
	if r, err := c.Fabrics(t.Context()); err != nil || len(r.Physical) != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if top, err := c.Topology(t.Context(), "roce-10.1.2.0_24"); err != nil || top.Label != "RoCE 10.1.2.0/24" {
		t.Errorf("%+v, %v", top, err)
	}
	_, err := c.ScanFabric(t.Context(), "sm-00000000000000aa")
	wantRefusal(t, err, http.StatusNotImplemented, "not_wired", "keeps no watch")
}

func TestNVLink(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.wired()
	r, err := h.client(t, storage.RoleViewer).NVLink(t.Context())
	if err != nil || len(r.Domains) != 1 || r.Domains[0].Ready || len(r.KeptOut) != 1 || r.KeptOut[0].Node != "a2" {
		t.Errorf("want one domain and what keeps a2 out, got %+v, %v", r, err)
	}
}

func TestFabricCommands(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	x.h.wired()
	x.h.fabrics.walk = func(string) (fabrics.Scan, error) { return backToBack(), nil }
	for _, s := range []struct {
		line string
		want []string
	}{
		{"fabrics", []string{"sm-00000000000000aa", "SM 00000000000000aa (LID 7)", "ib0", "elsewhere", "roce-10.1.2.0_24"}},
		{"fabrics -o json", []string{`"sm_changes": []`}},
		{"fabrics topology sm-00000000000000aa", []string{"mlx5_0", "active", "400", "no map yet"}},
		{"fabrics scan sm-00000000000000aa", []string{"a1 mlx5_0", "stranger  [2J port 1", "4xHDR", "not ours", "switches 0, adapters 2, links 1"}},
		{"nvlink", []string{"r1.1", "a1,a2", "no", "Node a2: Its IMEX service says STOPPED."}},
	} {
		out, errOut, err := x.run(t, "", strings.Fields(s.line)...)
		if err != nil {
			t.Errorf("%s: %v\n%s", s.line, err, errOut)
		}
		for _, w := range s.want {
			if !strings.Contains(out+errOut, w) {
				t.Errorf("%s: want %q in\n%s%s", s.line, w, out, errOut)
			}
		}
		if strings.Contains(out, "\x1b") {
			t.Errorf("%s: what a machine called itself steers the terminal", s.line)
		}
	}
	if _, _, err := x.run(t, "", "fabrics", "frobnicate"); err == nil {
		t.Error("want a word that is no command refused")
	}
}
