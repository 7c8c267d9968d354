package adminapi_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/adminapi"
	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

// upgradable is a node that can be upgraded, and one that is too old.
func upgradable(t *testing.T) *house {
	t.Helper()
	h := newHouse(t)
	for id, features := range map[inventory.NodeID][]string{"a1": {"logs", "upgrade"}, "old": {"logs"}} {
		h.registry.Apply(id, inventory.Report{Facts: &inventory.Facts{Features: features}}, time.Now())
	}
	return h
}

func TestUpgradeNode(t *testing.T) {
	t.Parallel()
	h := upgradable(t)
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	h.agents.upgrade = func(node, version string) (*inventory.Upgrade, error) {
		return &inventory.Upgrade{From: "v1.0.0", To: version, State: inventory.UpgradeFailed, Error: node + " ended", Since: since}, nil
	}
	v, err := h.client(t, storage.RoleOperator).UpgradeNode(t.Context(), "a1", view.NodeUpgradeRequest{Version: "v1.1.0-rc.1"})
	want := view.Upgrade{From: "v1.0.0", To: "v1.1.0-rc.1", State: "failed", Error: "a1 ended", Since: "2026-01-02T03:04:05Z"}
	if err != nil || v.Node != "a1" || v.Version != "v1.1.0-rc.1" || v.Last == nil || *v.Last != want {
		t.Errorf("got %+v, %v", v, err)
	}
	events, err := h.store.ListAudit(t.Context(), storage.AuditQuery{Object: "node:a1"})
	if err != nil || len(events) != 1 || events[0].Action != "nodes.upgrade" || !strings.Contains(events[0].After, "v1.1.0-rc.1") {
		t.Errorf("the audit log: %+v, %v", events, err)
	}
}

func TestUpgradesThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		node, body string
		agent      error
		status     int
		want       string
	}{
		{"a1", `{}`, nil, 400, "missing"},
		{"a1", `{"version":""}`, nil, 400, "is no release tag"},
		{"a1", `{"version":"latest"}`, nil, 400, `\"latest\" is no release tag; write one such as v1.2.3`},
		{"a1", `{"version":"v1.2"}`, nil, 400, "is no release tag"},
		{"zz", `{"version":"v1.2.3"}`, nil, 404, "zz"},
		{"old", `{"version":"v1.2.3"}`, nil, 409, "install v1.2.3 on its machine"},
		{"a1", `{"version":"v1.2.3"}`, adminapi.ErrUnsupported, 409, "too old"},
		{"a1", `{"version":"v1.2.3"}`, adminapi.ErrBusy, 429, ""},
		{"a1", `{"version":"v1.2.3"}`, context.DeadlineExceeded, 504, ""},
		{"a1", `{"version":"v1.2.3"}`, errors.New("hub: a1: v1.2.3 is not newer"), 502, "v1.2.3 is not newer"},
	} {
		h := upgradable(t)
		h.agents.upgrade = func(string, string) (*inventory.Upgrade, error) {
			if c.agent == nil {
				t.Errorf("%s %s: the agent was asked", c.node, c.body)
			}
			return nil, c.agent
		}
		w := h.ask(http.MethodPost, "/api/v1/nodes/"+c.node+"/upgrade", c.body)
		e := refusalOf(t, w)
		if want := strings.ReplaceAll(c.want, `\"`, `"`); w.Code != c.status || !strings.Contains(e.Error, want) || strings.Contains(e.Error, "hub:") {
			t.Errorf("%s %s with %v: want %d %s, got %d %+v", c.node, c.body, c.agent, c.status, want, w.Code, e)
		}
	}
}
