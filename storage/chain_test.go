package storage

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/inventory"
)

func chain(t *testing.T, n int) ([]AuditEvent, AuditHead) {
	t.Helper()
	var head AuditHead
	events := make([]AuditEvent, n)
	for i := range events {
		e, err := NewAuditEvent(time.Unix(int64(i), 5), inventory.Author{Principal: "token:ann", Reason: "r"}, Act{Action: "a", Object: "o", After: i})
		if err != nil {
			t.Fatal(err)
		}
		head = e.Follow(head)
		events[i] = e
	}
	return events, head
}

func verify(events []AuditEvent, kept AuditHead) error {
	var at AuditHead
	for i := range events {
		var err error
		if at, err = at.Check(&events[i]); err != nil {
			return err
		}
	}
	return at.Ends(kept)
}

// TestChainFindsRandomChanges makes a thousand edits, drops and swaps.
func TestChainFindsRandomChanges(t *testing.T) {
	t.Parallel()
	whole, head := chain(t, 40)
	if err := verify(whole, head); err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 1000 {
		events := slices.Clone(whole)
		i := r.IntN(len(events))
		switch r.IntN(3) {
		case 0:
			e := &events[i]
			edit := []func(){
				func() { e.Principal += "x" }, func() { e.Claimed += "x" }, func() { e.Action = "" }, func() { e.Object += " " },
				func() { e.Before = "{}" }, func() { e.After = "" }, func() { e.RequestID = "1" }, func() { e.Reason = "" },
				func() { e.At = e.At.Add(time.Duration(1 + r.IntN(9))) }, func() { e.Seq += 1 + r.Int64N(5) },
				func() { e.Principal, e.Claimed = e.Principal[:5], e.Principal[5:] },
			}
			edit[r.IntN(len(edit))]()
		case 1:
			events = slices.Delete(events, i, min(len(events), i+1+r.IntN(3)))
		case 2:
			j := (i + 1 + r.IntN(len(events)-1)) % len(events)
			events[i], events[j] = events[j], events[i]
			if r.IntN(2) == 0 {
				events[i].Seq, events[j].Seq = events[j].Seq, events[i].Seq
			}
		}
		if err := verify(events, head); !errors.Is(err, ErrTampered) {
			t.Fatalf("seed %d: want the change found, got %v", seed, err)
		}
	}
}

func TestAuditEvent(t *testing.T) {
	t.Parallel()
	by := inventory.Author{Principal: "token:\x00ann", Claimed: "a\xff", Reason: "why", Action: "models.scale", RequestID: "7"}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("east", 3600))
	got, err := NewAuditEvent(at, by, Act{Action: "models.put", Object: "model:m", After: map[string]any{"key": "secret", "n": 1}})
	if err != nil {
		t.Fatal(err)
	}
	want := AuditEvent{
		At: at.UTC(), Principal: "token:\uFFFDann", Claimed: "a\uFFFD", Action: "models.scale", Object: "model:m",
		After: `{"key":"[redacted]","n":1}`, RequestID: "7", Reason: "why",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(- want, + got):\n%s", diff)
	}
	for _, nobody := range []inventory.Author{{}, {Principal: "\t "}, {Claimed: "ann"}} {
		if _, err := NewAuditEvent(at, nobody, Act{}); !errors.Is(err, ErrAuthor) {
			t.Errorf("%+v: want ErrAuthor, got %v", nobody, err)
		}
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                              "",
		`null`:                          `null`,
		`plain words`:                   `"plain words"`,
		`{} {}`:                         `"{} {}"`,
		`{"n":12345678901234567890.50}`: `{"n":12345678901234567890.50}`,
		`{"key":"s","Key":"s","api_key":"s","apiKey":"s","hash":"s","token":"s","accessToken":"s"}`: `{"Key":"[redacted]","accessToken":"[redacted]","apiKey":"[redacted]","api_key":"[redacted]","hash":"[redacted]","key":"[redacted]","token":"[redacted]"}`,
		`{"key":""}`: `{"key":""}`,
		`{"key":null,"token":{"name":"x","password":"s"}}`:                                   `{"key":null,"token":{"name":"x","password":"[redacted]"}}`,
		`{"env":{"HF_TOKEN":"s","AWS_SECRET_ACCESS_KEY":"s","DB_PASSWD":"s","PATH":"/bin"}}`: `{"env":{"AWS_SECRET_ACCESS_KEY":"[redacted]","DB_PASSWD":"[redacted]","HF_TOKEN":"[redacted]","PATH":"/bin"}}`,
		`{"key_id":"k","max_tokens":5,"sha256":"ab","keys":["a"],"token_count":"5"}`:         `{"key_id":"k","keys":["a"],"max_tokens":5,"sha256":"ab","token_count":"5"}`,
		`["--api-key","s","--port","1"]`:                                                     `["--api-key","[redacted]","--port","1"]`,
		`["--hf-token=s","--n=1","--password="]`:                                             `["--hf-token=[redacted]","--n=1","--password="]`,
		`["--api-key",{"key":"s"},"kept"]`:                                                   `["--api-key",{"key":"[redacted]"},"kept"]`,
		`"https://user:s@host/p?a=b#@"`:                                                      `"https://[redacted]@host/p?a=b#@"`,
		`"https://host/p@v?api_key=s\u0026x=1"`:                                              `"https://host/p@v?api_key=[redacted]\u0026x=1"`,
		`"https://host/p?X-Amz-Signature=s"`:                                                 `"https://host/p?X-Amz-Signature=[redacted]"`,
		`["-u","ftp://u:s@h"]`:                                                               `["-u","ftp://[redacted]@h"]`,
	} {
		if got := Redact(in); got != want {
			t.Errorf("%s\nwant %s\ngot  %s", in, want, got)
		}
		if again := Redact(Redact(in)); in != "" && again != Redact(in) {
			t.Errorf("%s: want the second time to change nothing, got %s", in, again)
		}
	}
}

func TestUsageRows(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := Request{ID: "r", EndUser: "a\x00", Model: "asked"}
	kept := r.Kept(now)
	if diff := cmp.Diff(Request{ID: "r", At: now, ProjectID: DefaultProject, EndUser: "a\uFFFD", Model: "asked"}, kept); diff != "" {
		t.Errorf("(- want, + got):\n%s", diff)
	}
	if got := kept.Billed(); got != "asked" {
		t.Errorf("want the model that was asked for, got %q", got)
	}
	kept.ServedModel = "m"
	if got := kept.Billed(); got != "m" {
		t.Errorf("want the model that answered, got %q", got)
	}
	for o, want := range map[Outcome]bool{
		OutcomeOK: false, OutcomeCancelled: false, OutcomeRefused: true, OutcomeUpstreamError: true, OutcomeUpstreamAborted: true,
	} {
		if got := (&Request{Outcome: o}).Failed(); got != want {
			t.Errorf("%s: want failed %v, got %v", o, want, got)
		}
	}
}

func TestChecks(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"key without id":          CheckKey(&Key{Hash: "h"}),
		"key without hash":        CheckKey(&Key{ID: "k"}),
		"key with bytes":          CheckKey(&Key{ID: "k", Hash: "h", User: "\xff"}),
		"admin token without id":  CheckAdminToken(&AdminToken{Hash: "h", Role: RoleOwner}),
		"admin token of no role":  CheckAdminToken(&AdminToken{ID: "a", Hash: "h"}),
		"admin token with bytes":  CheckAdminToken(&AdminToken{ID: "a", Hash: "h", Role: RoleOwner, Name: "\x00"}),
		"join token without hash": CheckJoinToken(inventory.JoinToken{ID: "j"}),
		"join token with bytes":   CheckJoinToken(inventory.JoinToken{ID: "j\x00", Hash: "h"}),
		"certificate":             CheckCertificate(inventory.Certificate{Node: "n"}),
		"certificate of no node":  CheckCertificate(inventory.Certificate{Serial: "1"}),
		"holder":                  CheckHolder(""),
		"usage":                   CheckUsage([]Request{{ID: "r"}, {}}),
	} {
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: want ErrInvalid, got %v", name, err)
		}
	}
}
