package pki_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"llmgw.io/llmgw/internal/pki"
)

func newToken(t *testing.T) pki.JoinToken {
	t.Helper()
	tok, err := pki.NewJoinToken(newCA(t, "prod").Pin())
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func TestJoinTokenRoundTrip(t *testing.T) {
	t.Parallel()
	tok := newToken(t)
	back, err := pki.ParseJoinToken("  " + tok.Reveal() + "\n")
	if err != nil {
		t.Fatal(err)
	}
	if back.ID() != tok.ID() || back.Pin() != tok.Pin() || back.Reveal() != tok.Reveal() || back.HashHex() != tok.HashHex() {
		t.Errorf("want %v, got %v", tok, back)
	}
	if !back.Matches(tok.Hash()) || back.Matches(newToken(t).Hash()) {
		t.Error("a token matches its own hash and no other")
	}
	var none pki.JoinToken
	if !none.IsZero() || none.Reveal() != "" || none.Matches(none.Hash()) {
		t.Error("no token must be nothing and match nothing")
	}
	if _, err := pki.NewJoinToken("pin"); !errors.Is(err, pki.ErrToken) {
		t.Errorf("want %v, got %v", pki.ErrToken, err)
	}
}

func TestParseJoinTokenSays(t *testing.T) {
	t.Parallel()
	full := newToken(t).Reveal()
	id, rest, _ := strings.Cut(strings.TrimPrefix(full, "llmgw-join-"), ".")
	secret, pin, _ := strings.Cut(rest, ".")
	for name, c := range map[string]struct{ text, want string }{
		"empty":            {"", "must begin with"},
		"another kind":     {"sk-llmgw-" + id + "-" + secret, "must begin with"},
		"cut at the pin":   {"llmgw-join-" + id + "." + secret, "2 parts"},
		"too many parts":   {full + ".x", "4 parts"},
		"id upper case":    {"llmgw-join-ABCDEFGHIJ." + secret + "." + pin, "id must be"},
		"id short":         {"llmgw-join-abc." + secret + "." + pin, "id must be"},
		"secret cut":       {"llmgw-join-" + id + "." + secret[:40] + "." + pin, "secret of token " + id},
		"secret with line": {"llmgw-join-" + id + "." + secret[:20] + "\n" + secret[21:] + "." + pin, "secret of token " + id},
		"secret padded":    {"llmgw-join-" + id + "." + secret + "=." + pin, "secret of token " + id},
		"pin cut":          {full[:len(full)-1], "pin of token " + id},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := pki.ParseJoinToken(c.text)
			if !errors.Is(err, pki.ErrToken) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want %q, got %v", c.want, err)
			}
			if err != nil && strings.Contains(err.Error(), secret[:20]) {
				t.Errorf("the secret is in the message: %v", err)
			}
		})
	}
}

func TestJoinTokenNeverShowsItsSecret(t *testing.T) {
	t.Parallel()
	tok := newToken(t)
	secret := strings.Split(tok.Reveal(), ".")[1]
	hash := tok.Hash()
	inside := struct{ hidden pki.JoinToken }{tok}

	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T"} {
		fmt.Fprintf(&out, verb+"\n", tok)
		fmt.Fprintf(&out, verb+"\n", &tok)
		fmt.Fprintf(&out, verb+"\n", inside)
		fmt.Fprintf(&out, verb+"\n", &inside)
	}
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(h).Info("joined", "token", tok, "inside", inside, "group", slog.GroupValue(slog.Any("t", &tok)))
	}
	b, err := json.Marshal(map[string]any{"t": tok, "p": &tok})
	if err != nil {
		t.Fatal(err)
	}
	out.Write(b)
	raw := tok.Reveal()[len("llmgw-join-"):]
	for _, bad := range []string{secret, raw, fmt.Sprintf("%x", hash)} {
		if strings.Contains(out.String(), bad) {
			t.Fatalf("shown: %s", out.String())
		}
	}
	if !strings.Contains(out.String(), tok.ID()+".[redacted]") {
		t.Errorf("the id should stay readable: %s", out.String())
	}
}
