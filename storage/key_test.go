package storage

import (
	"net/netip"
	"testing"
	"time"
)

func TestKeyActive(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		key  Key
		want bool
	}{
		"no end":                             {Key{}, true},
		"before its end":                     {Key{ExpiresAt: now.Add(1)}, true},
		"at its end":                         {Key{ExpiresAt: now}, false},
		"revoked":                            {Key{RevokedAt: now.Add(-1)}, false},
		"revoked, by a clock that was ahead": {Key{RevokedAt: now.Add(time.Hour)}, false},
		"revoked before its end":             {Key{RevokedAt: now, ExpiresAt: now.Add(1)}, false},
	} {
		if got := c.key.Active(now); got != c.want {
			t.Errorf("%s: want active %v, got %v", name, c.want, got)
		}
		token := AdminToken{ExpiresAt: c.key.ExpiresAt, RevokedAt: c.key.RevokedAt}
		if got := token.Active(now); got != c.want {
			t.Errorf("an admin token, %s: want active %v, got %v", name, c.want, got)
		}
	}
}

func TestKeyAllows(t *testing.T) {
	t.Parallel()
	all, some, none := Key{}, Key{Models: []string{"a", "b"}}, Key{Models: []string{}}
	for _, c := range []struct {
		key   Key
		model string
		want  bool
	}{{all, "a", true}, {all, "", true}, {some, "b", true}, {some, "B", false}, {some, "", false}, {none, "a", false}} {
		if got := c.key.Allows(c.model); got != c.want {
			t.Errorf("models %q, asked for %q: want %v, got %v", c.key.Models, c.model, c.want, got)
		}
	}
}

func TestKeyAllowsAddr(t *testing.T) {
	t.Parallel()
	some := Key{CIDRs: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fe80::/10")}}
	for addr, want := range map[string]bool{
		"10.1.2.3": true, "10.2.2.3": false, "::ffff:10.1.2.3": true, "::ffff:10.2.2.3": false,
		"fe80::1%eth0": true, "fe80::1": true, "::1": false,
	} {
		a := netip.MustParseAddr(addr)
		if got := some.AllowsAddr(a); got != want {
			t.Errorf("%s: want %v, got %v", addr, want, got)
		}
		if anywhere := (&Key{}); !anywhere.AllowsAddr(a) {
			t.Errorf("%s: want a key without addresses to be good anywhere", addr)
		}
		if nowhere := (&Key{CIDRs: []netip.Prefix{}}); nowhere.AllowsAddr(a) {
			t.Errorf("%s: want a key with an empty list to be good nowhere", addr)
		}
	}
	if some.AllowsAddr(netip.Addr{}) {
		t.Error("want an address that is none refused")
	}
}

func TestRoleCovers(t *testing.T) {
	t.Parallel()
	for i, r := range Roles {
		for j, need := range Roles {
			if got, want := r.Covers(need), i >= j; got != want {
				t.Errorf("%s for what needs %s: want %v, got %v", r, need, want, got)
			}
		}
		if r.Covers("king") || Role("king").Covers(r) || Role("").Covers(r) {
			t.Errorf("want no role that is none to cover or be covered by %s", r)
		}
	}
}
