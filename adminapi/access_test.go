package adminapi_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/adminapi"
	"llmgw.io/llmgw/adminapi/adminclient"
	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/placement/reconciler"
	"llmgw.io/llmgw/storage"
)

func TestClientKeys(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	c, ctx := h.client(t, storage.RoleOwner), t.Context()
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	k, err := c.CreateKey(ctx, view.KeyRequest{Name: "ci", ExpiresAt: until, Models: []string{"tiny"}, CIDRs: []string{"10.1.2.3/8"}})
	if err != nil || !strings.HasPrefix(k.Secret, "sk-llmgw-"+k.ID+"-") || k.Project != "default" || k.CIDRs[0] != "10.0.0.0/8" {
		t.Fatalf("want a whole key, got %+v, %v", k, err)
	}
	row, err := h.store.Key(ctx, k.ID)
	if err != nil || !h.pepper.Matches(k.Secret, row.Hash) {
		t.Errorf("want the key's hash kept, got %+v, %v", row, err)
	}
	keys, _, err := c.Keys(ctx, adminclient.List{})
	if err != nil || len(keys) != 1 || keys[0].Secret != "" || keys[0].Prefix != "sk-llmgw-"+k.ID || !keys[0].ExpiresAt.Equal(until) {
		t.Errorf("want it listed without its secret, got %+v, %v", keys, err)
	}
	if _, err := c.RevokeKey(ctx, k.ID); err != nil {
		t.Fatal(err)
	}
	keys, _, err = c.Keys(ctx, adminclient.List{})
	if err != nil || len(keys) != 1 || keys[0].RevokedAt.IsZero() {
		t.Errorf("want it listed as revoked, got %+v, %v", keys, err)
	}
	_, err = c.RevokeKey(ctx, "nokey")
	wantRefusal(t, err, 404, "not_found", "nokey")
	_, err = c.CreateKey(ctx, view.KeyRequest{Name: "a\nb", ExpiresAt: time.Unix(1, 0), CIDRs: []string{"here"}})
	for _, says := range []string{"name has characters", "expires_at is in the past", `"here" in cidrs`} {
		wantRefusal(t, err, 400, "invalid", says)
	}
}

func TestAdminTokens(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	c, ctx := h.client(t, storage.RoleOwner), t.Context()
	made, err := c.CreateAdminToken(ctx, view.AdminTokenRequest{Name: "ops", Role: "operator"})
	if err != nil || made.Token == "" || made.CreatedBy != "token:owner" {
		t.Fatalf("want a whole token, got %+v, %v", made, err)
	}
	if w := h.ask(http.MethodGet, "/api/v1/models", "", "Authorization", "Bearer "+made.Token); w.Code != http.StatusOK {
		t.Errorf("it must work at once, got %d %s", w.Code, w.Body)
	}
	_, err = c.CreateAdminToken(ctx, view.AdminTokenRequest{Name: "ops", Role: "viewer"})
	wantRefusal(t, err, 409, "exists", made.ID)
	_, err = c.CreateAdminToken(ctx, view.AdminTokenRequest{Name: "o ps", Role: "king"})
	wantRefusal(t, err, 400, "invalid", "viewer, operator, owner")
	list, err := c.AdminTokens(ctx)
	if err != nil || len(list) != 4 {
		t.Fatalf("want four, got %+v, %v", list, err)
	}
	for _, v := range list {
		if v.Token != "" {
			t.Errorf("a listing must not hold %q", v.Token)
		}
	}
	if _, err := c.RevokeAdminToken(ctx, made.ID); err != nil {
		t.Fatal(err)
	}
	if w := h.ask(http.MethodGet, "/api/v1/models", "", "Authorization", "Bearer "+made.Token); w.Code != http.StatusUnauthorized {
		t.Errorf("it must stop at once, got %d", w.Code)
	}
	if _, err := c.CreateAdminToken(ctx, view.AdminTokenRequest{Name: "ops", Role: "viewer"}); err != nil {
		t.Errorf("the name of a revoked one is free: %v", err)
	}
}

func TestJoinTokens(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	c, ctx := h.client(t, storage.RoleOwner), t.Context()
	made, err := c.CreateJoinToken(ctx)
	if err != nil || !strings.HasPrefix(made.Token, "llmgw-join-") || made.ExpiresAt.Sub(made.CreatedAt) != time.Hour {
		t.Fatalf("want a whole token for an hour, got %+v, %v", made, err)
	}
	list, err := c.JoinTokens(ctx)
	if err != nil || len(list) != 1 || list[0].Token != "" || list[0].ID != made.ID {
		t.Errorf("want it listed without its secret, got %+v, %v", list, err)
	}
	if r, err := c.RevokeJoinToken(ctx, made.ID); err != nil || r.Revoked != made.ID {
		t.Errorf("want it revoked, got %+v, %v", r, err)
	}
}

func TestUsageAndRequests(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	at := time.Now().Add(-time.Minute)
	err := h.store.AppendUsage(t.Context(), []storage.Request{{
		ID: "r1", At: at, KeyID: "k", ProjectID: "default", Model: "tiny", ServedModel: "tiny", Status: 200, Outcome: storage.OutcomeOK,
		Latency: 1500 * time.Millisecond, Queued: 20 * time.Millisecond, FirstByte: 300 * time.Millisecond, PromptTokens: 5, CompletionTokens: 7, CostMicros: 3,
	}})
	if err != nil {
		t.Fatal(err)
	}
	c, ctx := h.client(t, storage.RoleViewer), t.Context()
	sums, err := c.Usage(ctx, "model", time.Hour)
	if err != nil || len(sums) != 1 || sums[0].ID != "tiny" || sums[0].CompletionTokens != 7 {
		t.Errorf("want one sum, got %+v, %v", sums, err)
	}
	if sums, err = c.Usage(ctx, "model", time.Second); err != nil || len(sums) != 0 {
		t.Errorf("want nothing since a second, got %+v, %v", sums, err)
	}
	_, err = c.Usage(ctx, "planet", 0)
	wantRefusal(t, err, 400, "invalid", "org, team, project, user, key, model")
	_, err = c.Usage(ctx, "", -time.Hour)
	wantRefusal(t, err, 400, "invalid", "positive duration")
	r, err := c.Request(ctx, "r1")
	if err != nil || r.LatencyMS != 1500 || r.QueueMS != 20 || r.TTFTMS != 300 {
		t.Errorf("want the record, got %+v, %v", r, err)
	}
	_, err = c.Request(ctx, "r2")
	wantRefusal(t, err, 404, "not_found", "a few seconds after a request ends")
}

func TestExplainRequest(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	c := h.client(t, storage.RoleViewer)
	e, err := c.ExplainRequest(t.Context(), "req_known")
	if err != nil || e.RequestID != "req_known" || len(e.Choices) != 2 || !strings.Contains(e.Choices[0].Why, "700 of 800 tokens") {
		t.Errorf("want two choices with their sentences, got %+v, %v", e, err)
	}
	_, err = c.ExplainRequest(t.Context(), "req_old")
	wantRefusal(t, err, 404, "not_found", "at the control plane that served it")
}

func TestTheLogOfChanges(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.must(t, tiny("tiny"))
	w := h.ask(http.MethodPost, "/api/v1/models/tiny/scale", `{"min":2}`, "X-Llmgw-Actor", "ann\n@example.org")
	c, ctx := h.client(t, storage.RoleViewer), t.Context()
	events, _, err := c.Audit(ctx, adminclient.AuditList{Object: "model:tiny", Principal: "token:owner"})
	if err != nil || len(events) != 1 {
		t.Fatalf("want one event, got %+v, %v", events, err)
	}
	e := events[0]
	if e.Action != "models.scale" || e.Claimed != "ann@example.org" || e.RequestID != w.Header().Get("X-Request-Id") || e.RequestID == "" {
		t.Errorf("want who, what and the request's id, got %+v", e)
	}
	h.ask(http.MethodPost, "/api/v1/models/tiny/retry", "")
	if events, _, err = c.Audit(ctx, adminclient.AuditList{List: adminclient.List{Limit: 1}}); err != nil || events[0].Action != "models.retry" {
		t.Errorf("an order that changes no row is in the log too, got %+v, %v", events, err)
	}
	if check, err := c.VerifyAudit(ctx); err != nil || !check.OK {
		t.Errorf("want the chain whole, got %+v, %v", check, err)
	}
}

func TestPartsThatAreNotWired(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(c *adminapi.Config) { *c = adminapi.Config{Auth: c.Auth, Version: "test"} })
	for _, r := range adminapi.Routes() {
		w := h.ask(r.Method, filled(r.Pattern), "{}")
		if r.Needs == "" {
			if w.Code != http.StatusOK {
				t.Errorf("%s %s: want 200, got %d", r.Method, r.Pattern, w.Code)
			}
			continue
		}
		e := refusalOf(t, w)
		if w.Code != http.StatusNotImplemented || e.Code != "not_wired" || !strings.Contains(e.Error, "this control plane") || !strings.Contains(e.Error, ", so ") {
			t.Errorf("%s %s: want 501 that says what is missing and why it matters, got %d %+v", r.Method, r.Pattern, w.Code, e)
		}
	}
	if w := h.ask(http.MethodGet, "/readyz", ""); w.Code != http.StatusOK {
		t.Errorf("without a store there is nothing to wait for, got %d", w.Code)
	}
}

func TestWithoutAStoreNothingIsKept(t *testing.T) {
	t.Parallel()
	models, err := catalog.NewService(t.Context(), catalog.ServiceConfig{})
	if err != nil {
		t.Fatal(err)
	}
	h := newHouse(t, func(c *adminapi.Config) { c.Models = models })
	w := h.ask(http.MethodPost, "/api/v1/models", `{"name":"tiny"}`)
	if e := refusalOf(t, w); w.Code != http.StatusNotImplemented || !strings.Contains(e.Error, "would not survive a restart") {
		t.Errorf("want 501, got %d %+v", w.Code, e)
	}
}

func TestConfigComplainsOfEverything(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, err := adminapi.New(adminapi.Config{JoinTokens: h.store, Keys: h.store})
	for _, want := range []string{"Auth", "NewJoinToken", "Pepper"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want a complaint about %s, got %v", want, err)
		}
	}
}

func TestSecretsStayInside(t *testing.T) {
	t.Parallel()
	const canary = "CANARY"
	h := newHouse(t)
	key, endpoint := canary+"-external", canary+"-endpoint"
	h.must(t, catalog.Model{Name: "far", External: &catalog.External{URL: "https://api.example.org/v1", Model: "big", Key: &key}})
	h.must(t, catalog.Model{Name: "near", Profiles: []catalog.Profile{{
		Name: "theirs", Engine: catalog.EngineStatic, Endpoints: []catalog.Endpoint{{URL: "http://10.0.0.1:8000", Key: &endpoint}},
	}}})
	h.loop.view.Replicas = []reconciler.Replica{{ID: "tiny-1", Model: "tiny", Phase: reconciler.Run}}
	h.loop.retry = func(catalog.Name) (bool, error) { return false, errors.New(canary + "-inner: connection refused") }
	for _, role := range storage.Roles {
		for _, r := range adminapi.Routes() {
			for _, name := range []string{"far", "near"} {
				target := adminapi.Base + strings.NewReplacer("{name}", name, "{id}", canary+"-not").Replace(r.Pattern)
				if r.Name == "tokens.join.create" || (r.Name == "replicas.list" && role == storage.RoleOwner) || r.Name == "models.remove" {
					continue
				}
				w := h.ask(r.Method, target, `{"`+canary+`":`, "Authorization", "Bearer "+h.tokens[role])
				body := strings.ReplaceAll(w.Body.String(), canary+"-not", "")
				if strings.Contains(body, canary) || strings.Contains(body, h.tokens[role]) {
					t.Errorf("%s %s as %s shows a secret: %s", r.Method, r.Pattern, role, w.Body)
				}
			}
		}
	}
	if w := h.ask(http.MethodGet, "/api/v1/replicas", ""); !strings.Contains(w.Body.String(), "CANARYENGINE-tiny-1") {
		t.Errorf("an owner is shown engine keys, got %s", w.Body)
	}
	for _, secret := range []string{canary + "-external", canary + "-endpoint", "CANARYENGINE", h.tokens[storage.RoleOwner]} {
		if strings.Contains(h.log.String(), secret) {
			t.Errorf("the log holds %s", secret)
		}
	}
	if !strings.Contains(h.log.String(), canary+"-inner") {
		t.Errorf("an error of our own is in the log, got %s", h.log)
	}
}

func TestAPanicIsAnAnswer(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.must(t, tiny("tiny"))
	h.loop.retry = func(catalog.Name) (bool, error) { panic("a broken invariant") }
	w := h.ask(http.MethodPost, "/api/v1/models/tiny/retry", "")
	e := refusalOf(t, w)
	if w.Code != http.StatusInternalServerError || strings.Contains(e.Error, "invariant") || !strings.Contains(e.Error, w.Header().Get("X-Request-Id")) {
		t.Errorf("want 500 with the id alone, got %d %+v", w.Code, e)
	}
	if !strings.Contains(h.log.String(), "a broken invariant") {
		t.Error("want it in the log")
	}
}
