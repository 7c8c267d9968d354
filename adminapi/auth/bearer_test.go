package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/storage"
)

// fakeTokens is a table of tokens that counts look-ups.
type fakeTokens struct {
	byID    map[string]storage.AdminToken
	err     error
	lookups atomic.Int64
}

func (f *fakeTokens) AdminToken(_ context.Context, id string) (storage.AdminToken, error) {
	f.lookups.Add(1)
	if f.err != nil {
		return storage.AdminToken{}, f.err
	}
	t, ok := f.byID[id]
	if !ok {
		return t, fmt.Errorf("admin token %s: %w", id, storage.ErrNotFound)
	}
	return t, nil
}

func (f *fakeTokens) add(p storage.Pepper, t storage.AdminToken) (token string) {
	id, token := storage.NewAdminSecret()
	t.ID, t.Hash = id, p.Hash(token)
	if f.byID == nil {
		f.byID = map[string]storage.AdminToken{}
	}
	f.byID[id] = t
	return token
}

func request(addr, header string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/api/v1/models", nil)
	r.RemoteAddr = addr
	if header != "" {
		r.Header.Set("Authorization", header)
	}
	return r
}

func newBearer(t *testing.T, f *fakeTokens, p storage.Pepper) *Bearer {
	t.Helper()
	b, err := New(Config{Tokens: f, Pepper: p})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestWhoIsLetIn(t *testing.T) {
	t.Parallel()
	p, f := storage.NewPepper(), &fakeTokens{}
	now := time.Now()
	good := f.add(p, storage.AdminToken{Name: "ops", Role: storage.RoleOperator, ExpiresAt: now.Add(time.Hour)})
	nameless := f.add(p, storage.AdminToken{Role: storage.RoleViewer})
	revoked := f.add(p, storage.AdminToken{Name: "old", Role: storage.RoleOwner, RevokedAt: now.Add(-time.Minute)})
	expired := f.add(p, storage.AdminToken{Name: "old", Role: storage.RoleOwner, ExpiresAt: now.Add(-time.Second)})
	roleless := f.add(p, storage.AdminToken{Name: "odd", Role: "wizard"})
	_, unknown := storage.NewAdminSecret()
	goodID, _ := storage.AdminTokenID(good)
	namelessID, _ := storage.AdminTokenID(nameless)
	_, other := storage.NewAdminSecret()
	wrongSecret := "llmgw-adm-" + goodID + other[len("llmgw-adm-")+len(goodID):]
	cases := []struct {
		name, header string
		want         error
		principal    string
	}{
		{"right", "Bearer " + good, nil, "token:ops"},
		{"scheme in lower case", "bearer " + good, nil, "token:ops"},
		{"no name", "Bearer " + nameless, nil, "token:" + namelessID},
		{"no header", "", ErrMissing, ""},
		{"empty bearer", "Bearer ", ErrMissing, ""},
		{"another scheme", "Basic " + good, ErrMissing, ""},
		{"no scheme", good, ErrMissing, ""},
		{"malformed", "Bearer llmgw-adm-nonsense", ErrRefused, ""},
		{"a client key", "Bearer sk-llmgw-abcdefghij-aaaa", ErrRefused, ""},
		{"unknown", "Bearer " + unknown, ErrRefused, ""},
		{"wrong secret", "Bearer " + wrongSecret, ErrRefused, ""},
		{"revoked", "Bearer " + revoked, ErrRefused, ""},
		{"expired", "Bearer " + expired, ErrRefused, ""},
		{"unknown role", "Bearer " + roleless, ErrRefused, ""},
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			id, err := newBearer(t, f, p).Authenticate(request(fmt.Sprintf("192.0.2.%d:1", i), c.header))
			if !errors.Is(err, c.want) || (c.want == nil && err != nil) {
				t.Fatalf("want error %v, got %v", c.want, err)
			}
			if id.Principal != c.principal {
				t.Errorf("want principal %q, got %q", c.principal, id.Principal)
			}
		})
	}
}

func TestAFailingStoreIsNotARefusal(t *testing.T) {
	t.Parallel()
	p, f := storage.NewPepper(), &fakeTokens{}
	token := f.add(p, storage.AdminToken{Role: storage.RoleOwner})
	b := newBearer(t, f, p)
	f.err = errors.New("the disk is gone")
	if _, err := b.Authenticate(request("192.0.2.1:1", "Bearer "+token)); err == nil || errors.Is(err, ErrRefused) {
		t.Fatalf("want the store's error, got %v", err)
	}
	f.err = nil
	if _, err := b.Authenticate(request("192.0.2.1:1", "Bearer "+token)); err != nil {
		t.Errorf("the token must work once the store is back: %v", err)
	}
}

func TestRefusedTokensCostOneLookupASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, f := storage.NewPepper(), &fakeTokens{}
		b := newBearer(t, f, p)
		_, unknown := storage.NewAdminSecret()
		for range 5 {
			b.Authenticate(request("192.0.2.1:1", "Bearer "+unknown))
		}
		if n := f.lookups.Load(); n != 1 {
			t.Errorf("want 1 look-up within a second, got %d", n)
		}
		time.Sleep(time.Second)
		b.Authenticate(request("192.0.2.1:1", "Bearer "+unknown))
		if n := f.lookups.Load(); n != 2 {
			t.Errorf("want another look-up after a second, got %d in all", n)
		}
		b.Authenticate(request("192.0.2.1:1", "Bearer llmgw-adm-x"))
		if n := f.lookups.Load(); n != 2 {
			t.Errorf("a malformed token must cost no look-up, got %d in all", n)
		}
	})
}

func TestFailuresAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, f := storage.NewPepper(), &fakeTokens{}
		used := f.add(p, storage.AdminToken{Name: "used", Role: storage.RoleOwner})
		fresh := f.add(p, storage.AdminToken{Name: "fresh", Role: storage.RoleOwner})
		b := newBearer(t, f, p)
		ask := func(addr, token string) error {
			r := request(addr, "Bearer "+token)
			r.Header.Set("X-Forwarded-For", "198.51.100.7")
			_, err := b.Authenticate(r)
			return err
		}
		if err := ask("192.0.2.1:1", used); err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			if err := ask(fmt.Sprintf("192.0.2.1:%d", i+1), "wrong"); !errors.Is(err, ErrRefused) {
				t.Fatalf("failure %d: want a refusal, got %v", i+1, err)
			}
		}
		var throttled *ThrottledError
		if err := ask("192.0.2.1:99", "wrong"); !errors.As(err, &throttled) || throttled.RetryAfter <= 0 {
			t.Fatalf("want to be told to wait, got %v", err)
		}
		if err := ask("192.0.2.1:99", fresh); !errors.As(err, &throttled) {
			t.Errorf("a token never seen before must wait too, got %v", err)
		}
		if err := ask("192.0.2.1:99", used); err != nil {
			t.Errorf("a token that was right before must go on: %v", err)
		}
		if err := ask("192.0.2.2:1", fresh); err != nil {
			t.Errorf("another address must not be held: %v", err)
		}
		time.Sleep(throttled.RetryAfter)
		if err := ask("192.0.2.1:99", "wrong"); !errors.Is(err, ErrRefused) {
			t.Errorf("after the wait one more try is allowed, got %v", err)
		}
	})
}

func TestARevokedTokenStopsAtOnce(t *testing.T) {
	t.Parallel()
	p, f := storage.NewPepper(), &fakeTokens{}
	token := f.add(p, storage.AdminToken{Role: storage.RoleOwner})
	b := newBearer(t, f, p)
	if _, err := b.Authenticate(request("192.0.2.1:1", "Bearer "+token)); err != nil {
		t.Fatal(err)
	}
	id, _ := storage.AdminTokenID(token)
	row := f.byID[id]
	row.RevokedAt = time.Now()
	f.byID[id] = row
	if _, err := b.Authenticate(request("192.0.2.1:1", "Bearer "+token)); !errors.Is(err, ErrRefused) {
		t.Errorf("want a refusal, got %v", err)
	}
}

func TestTablesStayBounded(t *testing.T) {
	t.Parallel()
	m := map[int]int{}
	for i := range 3 * remembered {
		makeRoom(m, func(v int) bool { return v%2 == 0 })
		m[i] = i
	}
	if len(m) > remembered {
		t.Errorf("want at most %d, got %d", remembered, len(m))
	}
}

func TestPeer(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"192.0.2.1:80":           "192.0.2.1/32",
		"[::ffff:192.0.2.1]:80":  "192.0.2.1/32",
		"[2001:db8::1:2]:80":     "2001:db8::/64",
		"[fe80::1%eth0]:80":      "fe80::/64",
		"pipe":                   "invalid Prefix",
		"[2001:db8:0:1::ffff]:1": "2001:db8:0:1::/64",
	} {
		if got := peer(in).String(); got != want {
			t.Errorf("peer of %s: want %s, got %s", in, want, got)
		}
	}
}
