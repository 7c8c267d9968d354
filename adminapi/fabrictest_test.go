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

// testers are two nodes that can test, and one that is too old.
func testers(t *testing.T) *house {
	t.Helper()
	h := newHouse(t)
	for id, features := range map[inventory.NodeID][]string{"a1": {"logs", "fabric-test"}, "a2": {"fabric-test"}, "old": {"logs"}} {
		h.registry.Apply(id, inventory.Report{Facts: &inventory.Facts{Features: features}}, time.Now())
	}
	return h
}

func TestFabricTest(t *testing.T) {
	t.Parallel()
	h := testers(t)
	expected := 100.0
	var got view.FabricTestRequest
	h.agents.test = func(_ context.Context, in view.FabricTestRequest) (view.FabricTestResult, error) {
		got = in
		return view.FabricTestResult{From: in.From, To: in.To, Fabric: in.Fabric, Method: "tcp", Gbps: 93.5, ExpectedGbps: &expected, OK: true, Text: "good"}, nil
	}
	in := view.FabricTestRequest{From: "a1", To: "a2", Fabric: "ib0", Seconds: 7}
	v, err := h.client(t, storage.RoleOperator).FabricTest(t.Context(), in)
	if err != nil || got != in || v.Gbps != 93.5 || v.ExpectedGbps == nil || *v.ExpectedGbps != 100 || !v.OK {
		t.Errorf("asked %+v, got %+v, %v", got, v, err)
	}
}

func TestFabricTestsThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body   string
		agents error
		status int
		want   string
	}{
		{`{"from":"a1"}`, nil, 400, "missing"},
		{`{"from":"a1","to":""}`, nil, 400, "two nodes"},
		{`{"from":"a1","to":"a1"}`, nil, 400, "same node"},
		{`{"from":"a1","to":"a2","seconds":31}`, nil, 400, "1 to 30"},
		{`{"from":"a1","to":"zz"}`, nil, 404, "zz"},
		{`{"from":"a1","to":"old"}`, nil, 409, "\"old\" is too old"},
		{`{"from":"old","to":"a1"}`, nil, 409, "\"old\" is too old"},
		{`{"from":"a1","to":"a2"}`, adminapi.ErrNoFabric, 409, ""},
		{`{"from":"a1","to":"a2"}`, adminapi.ErrUnsupported, 409, ""},
		{`{"from":"a1","to":"a2"}`, adminapi.ErrBusy, 429, ""},
		{`{"from":"a1","to":"a2"}`, context.DeadlineExceeded, 504, ""},
		{`{"from":"a1","to":"a2"}`, errors.New("hub: a1 does not answer"), 502, "a1 does not answer"},
	} {
		h := testers(t)
		h.agents.test = func(context.Context, view.FabricTestRequest) (view.FabricTestResult, error) {
			if c.agents == nil {
				t.Errorf("%s: the agents were asked", c.body)
			}
			return view.FabricTestResult{}, c.agents
		}
		w := h.ask(http.MethodPost, "/api/v1/fabric-test", c.body)
		if e := refusalOf(t, w); w.Code != c.status || !strings.Contains(e.Error, c.want) || strings.Contains(e.Error, "hub:") {
			t.Errorf("%s with %v: want %d %s, got %d %+v", c.body, c.agents, c.status, c.want, w.Code, e)
		}
	}
}
