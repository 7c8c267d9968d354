package adminapi_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/placement/reconciler"
	"llmgw.io/llmgw/storage"
)

func TestLabelsOfOperators(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.node("a1")
	c := h.client(t, storage.RoleOperator)
	rack, hidden := "r1", ""
	n, err := c.SetLabels(t.Context(), "a1", map[string]*string{"llmgw.io/rack": &rack, "x": &hidden})
	if err != nil || n.OperatorLabels["llmgw.io/rack"] != "r1" || n.Location == nil || n.Location.Rack != "r1" {
		t.Errorf("want the node in rack r1, got %+v, %v", n, err)
	}
	n, err = c.SetLabels(t.Context(), "a1", map[string]*string{"llmgw.io/rack": nil, "x": nil})
	if err != nil || n.OperatorLabels != nil || n.Location != nil {
		t.Errorf("want no label of operators, got %+v, %v", n, err)
	}
	events, err := h.store.ListAudit(t.Context(), storage.AuditQuery{Object: "node:a1", Limit: 1})
	if err != nil || len(events) != 1 || events[0].Action != "nodes.labels" || events[0].Principal != "token:operator" {
		t.Errorf("want the change in the log, got %+v, %v", events, err)
	}
	_, err = c.SetLabels(t.Context(), "zz", map[string]*string{"k": &rack})
	wantRefusal(t, err, 404, "not_found", "there is no node")
	_, err = c.SetLabels(t.Context(), "a1", map[string]*string{"a=b": &rack})
	wantRefusal(t, err, 400, "invalid", "cannot be the name of a label")
	_, err = c.SetLabels(t.Context(), "a1", nil)
	wantRefusal(t, err, 400, "invalid", "")
	_, err = h.client(t, storage.RoleViewer).SetLabels(t.Context(), "a1", map[string]*string{"k": &rack})
	wantRefusal(t, err, 403, "forbidden", "")
}

func TestHoldsOfPlaces(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.node("a1")
	c := h.client(t, storage.RoleOperator)
	rack := "north hall/7"
	if _, err := c.SetLabels(t.Context(), "a1", map[string]*string{"llmgw.io/rack": &rack}); err != nil {
		t.Fatal(err)
	}
	domain := "rack:" + rack
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	v, err := c.Hold(t.Context(), view.HoldRequest{Domain: domain, Reason: "PDU swap", Until: until})
	if err != nil || v.State != "in_force" || v.By != "token:operator" || !v.Until.Equal(until) || v.Since.IsZero() {
		t.Errorf("want it held, got %+v, %v", v, err)
	}
	n, err := c.Node(t.Context(), "a1")
	if err != nil || n.Held != "rack north hall/7 is held: PDU swap" || n.HeldDomain != domain {
		t.Errorf("want the node to say that it is held, got %q, %v", n.Held, err)
	}
	f, err := c.Facility(t.Context())
	if err != nil || len(f.Domains) != 1 || f.Domains[0].Domain != domain || f.Domains[0].Hold == nil {
		t.Errorf("want the place with its hold, got %+v, %v", f, err)
	}
	r, err := c.ReleaseHold(t.Context(), domain)
	if err != nil || r.Released != domain || h.registry.Snapshot().Node("a1").Held.Yes() {
		t.Errorf("want it released, got %+v, %v", r, err)
	}
	_, err = c.ReleaseHold(t.Context(), domain)
	wantRefusal(t, err, 404, "not_found", "is not held")
	_, err = c.ReleaseHold(t.Context(), "rack")
	wantRefusal(t, err, 400, "invalid", "names no domain")
	_, err = c.Hold(t.Context(), view.HoldRequest{Domain: domain, Until: time.Now().Add(-time.Hour)})
	wantRefusal(t, err, 400, "invalid", "is past")
	_, err = c.Hold(t.Context(), view.HoldRequest{Domain: domain, Reason: strings.Repeat("x", 300)})
	wantRefusal(t, err, 400, "invalid", "at most 256 bytes")
}

func TestPlanOfAHold(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p, err := h.client(t, storage.RoleViewer).PlanHold(t.Context(), "rack:r1", time.Now().Add(time.Hour), time.Time{})
	if err != nil || p.Models == nil || p.Shortfall == nil || p.Seconds != 0 {
		t.Errorf("want an empty plan, got %+v, %v", p, err)
	}
	if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "No node says that it stands in rack:r1") {
		t.Errorf("want it said that nobody stands there, got %q", p.Notes)
	}
	for q, says := range map[string]string{"": "names no domain", "domain=rack:r1&from=soon": "must be a time", "domain=rack:r1&until=" + url.QueryEscape("2001-01-01T00:00:00Z"): "is past"} {
		if w := h.ask(http.MethodGet, "/api/v1/facility/plan?"+q, ""); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), says) {
			t.Errorf("%q: want 400 that says %q, got %d %s", q, says, w.Code, w.Body)
		}
	}
	if holds := h.registry.Snapshot().Holds(); len(holds) != 0 {
		t.Errorf("a plan holds nothing, got %v", holds)
	}
}

// Two answers are given to what a hold would do, and each names the other for what
// it leaves out.
func TestPlansOfAHoldNameEachOther(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.node("a1")
	h.must(t, tiny("tiny"))
	h.running(t, "tiny")
	c := h.client(t, storage.RoleViewer)
	p, err := c.PlanHold(t.Context(), "node:a1", time.Time{}, time.Time{})
	if err != nil || len(p.Shortfall) != 1 || !slices.Equal(p.Notes, []string{view.HoldPlanNote}) {
		t.Errorf("want it told what is left out, got %+v, %v", p, err)
	}
	from := time.Now().Add(time.Minute)
	v, err := c.PlanChange(t.Context(), view.PlanRequest{Hold: &view.PlanHold{Domain: "node:a1", From: from}})
	if err != nil || len(v.Lost) != 1 || !slices.Equal(v.Notes, []string{view.HoldChangeNote}) {
		t.Errorf("want it told what is left out, got %+v, %v", v, err)
	}
	for _, quiet := range []view.PlanHold{{Domain: "node:a1"}, {Domain: "rack:r1", From: from}} {
		if v, err := c.PlanChange(t.Context(), view.PlanRequest{Hold: &quiet}); err != nil || slices.Contains(v.Notes, view.HoldChangeNote) {
			t.Errorf("%+v: nothing moves, so there is nothing to add, got %+v, %v", quiet, v, err)
		}
	}
}

func TestReleasingTheBrake(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	c := h.client(t, storage.RoleOperator)
	if v, err := c.ReleaseBrake(t.Context()); err != nil || v.Released {
		t.Errorf("there is none to release, got %+v, %v", v, err)
	}
	h.loop.view.Brake = reconciler.Brake{Since: time.Now(), Reason: "60 of 200 nodes went silent within a minute"}
	if s, err := c.Summary(t.Context()); err != nil || s.Brake == nil || s.Brake.Reason == "" {
		t.Errorf("want the summary to say so, got %+v, %v", s.Brake, err)
	}
	if v, err := c.ReleaseBrake(t.Context()); err != nil || !v.Released {
		t.Errorf("want it released, got %+v, %v", v, err)
	}
	events, err := h.store.ListAudit(t.Context(), storage.AuditQuery{Object: "brake"})
	if err != nil || len(events) != 2 || events[0].Action != "brake.release" {
		t.Errorf("want both in the log, got %+v, %v", events, err)
	}
}
