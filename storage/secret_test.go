package storage

import (
	"regexp"
	"strings"
	"testing"
)

func TestSecretsRoundTrip(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func() (id, secret string)
		id   func(string) (string, bool)
		form string
	}{
		"key":         {NewKeySecret, KeyID, `^sk-llmgw-[a-z2-7]{10}-[A-Za-z0-9_-]{43}$`},
		"admin token": {NewAdminSecret, AdminTokenID, `^llmgw-adm-[a-z2-7]{10}_[A-Za-z0-9_-]{43}$`},
	} {
		form, seen, separators := regexp.MustCompile(c.form), map[string]bool{}, 0
		for range 300 {
			id, secret := c.make()
			if !form.MatchString(secret) {
				t.Fatalf("%s: want the form %s, got one of %d letters", name, c.form, len(secret))
			}
			if got, ok := c.id(secret); !ok || got != id {
				t.Fatalf("%s: want the id %s back, got %q, %v", name, id, got, ok)
			}
			if seen[id] || seen[secret] {
				t.Fatalf("%s: made twice", name)
			}
			seen[id], seen[secret] = true, true
			separators += strings.Count(secret[len(secret)-43:], "-") + strings.Count(secret[len(secret)-43:], "_")
		}
		if separators == 0 {
			t.Errorf("%s: want separators to have stood within secrets, or the test shows nothing", name)
		}
	}
}

func TestFormsThatAreNone(t *testing.T) {
	t.Parallel()
	_, key := NewKeySecret()
	_, admin := NewAdminSecret()
	for _, s := range []string{
		"", "sk-llmgw-", "sk-llmgw-abc", "sk-" + key, key[1:], key + "A", key[:len(key)-1], " " + key, strings.ToUpper(key),
		strings.Replace(key, "sk-llmgw-", "sk-llmgw_", 1), admin, key[:19] + "_" + key[20:],
	} {
		if id, ok := KeyID(s); ok {
			t.Errorf("want no key in %q, got the id %q", s, id)
		}
	}
	for _, s := range []string{"", key, admin[1:], admin + "A", admin[:20] + "-" + admin[21:]} {
		if id, ok := AdminTokenID(s); ok {
			t.Errorf("want no admin token in %q, got the id %q", s, id)
		}
	}
	// Separators within the secret end nothing: the first one after the id does.
	odd := "sk-llmgw-abcdefghij-" + strings.Repeat("-_", 21) + "-"
	if id, ok := KeyID(odd); !ok || id != "abcdefghij" {
		t.Errorf("want the id abcdefghij, got %q, %v", id, ok)
	}
}

func TestPepper(t *testing.T) {
	t.Parallel()
	p, other := NewPepper(), NewPepper()
	_, secret := NewKeySecret()
	hash := p.Hash(secret)
	if len(p) != 32 || len(hash) != 64 || strings.Contains(hash, secret) {
		t.Errorf("want 32 bytes and a hash in hex, got %d and %q", len(p), hash)
	}
	if !p.Matches(secret, hash) {
		t.Error("want a secret to match its own hash")
	}
	for name, wrong := range map[string]bool{
		"another pepper": other.Matches(secret, hash),
		"another secret": p.Matches(secret+"x", hash),
		"no hash":        p.Matches(secret, ""),
		"a cut hash":     p.Matches(secret, hash[:32]),
		"upper case":     p.Matches(secret, strings.ToUpper(hash)),
		"the secret":     p.Matches(secret, secret),
	} {
		if wrong {
			t.Errorf("want %s not to match", name)
		}
	}
	if again := p.EngineKey("m-1"); again != p.EngineKey("m-1") || again == p.EngineKey("m-2") || again == other.EngineKey("m-1") {
		t.Error("want an engine's key to follow from the pepper and the replica alone")
	}
	if p.EngineKey("x") == p.Hash("engine-key\x00x") {
		t.Error("want an engine's key in a form of its own")
	}
}
