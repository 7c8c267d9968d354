package router

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"llmgw.io/llmgw/router/openai"
	"llmgw.io/llmgw/storage"
)

// door lets in who holds a key.
type door struct {
	declared map[string]*storage.Key
	keys     Keys // nil: declared ones only
	pepper   storage.Pepper
	ttl      time.Duration
	found    sync.Map // id to *foundKey
	failed   *strikes
}

// foundKey is what the store said of an id.
type foundKey struct {
	key *storage.Key // nil: there is none
	at  time.Time
}

// negativeTTL is how long an id that the store does not know needs no look-up.
const negativeTTL = time.Second

// nobody is compared with where there is no key, so that a miss takes as long
// as a wrong secret.
const nobody = "0000000000000000000000000000000000000000000000000000000000000000"

func newDoor(c *Config) *door {
	d := &door{
		declared: make(map[string]*storage.Key, len(c.Declared)), keys: c.Keys, pepper: c.Pepper, ttl: c.KeyTTL,
		failed: newStrikes(c.Limits.FailedCredentials),
	}
	for i := range c.Declared {
		d.declared[c.Declared[i].ID] = &c.Declared[i]
	}
	return d
}

// admit finds the key that a request carries. Of why it is refused it says no
// more than its holder knows already.
func (d *door) admit(req *http.Request, from netip.Addr) (*storage.Key, *failure) {
	now := time.Now()
	secret, f := bearer(req.Header)
	if f != nil {
		return nil, f
	}
	id, formed := storage.KeyID(secret)
	if d.failed.out(from, now) && !d.known(id, now) {
		f := refused(openai.RateLimit, "too_many_failures", "There were too many wrong keys from your address; wait a minute.")
		f.retryAfter = time.Minute
		return nil, f
	}
	var key *storage.Key
	if formed {
		var err error
		if key, err = d.find(req.Context(), id, now); err != nil {
			return nil, full("keys_unavailable", "Keys cannot be checked right now; try again in a moment.", time.Second)
		}
	}
	hash := nobody
	if key != nil {
		hash = key.Hash
	}
	if !d.pepper.Matches(secret, hash) || key == nil {
		d.failed.add(from, now)
		return nil, refused(openai.Authentication, "invalid_api_key", "The API key is wrong; check it, or ask for a new one.")
	}
	return key, d.standing(key, from, now)
}

// standing says whether a key that is right may be used here and now.
func (d *door) standing(key *storage.Key, from netip.Addr, now time.Time) *failure {
	switch {
	case !key.RevokedAt.IsZero():
		return refused(openai.Authentication, "invalid_api_key", "The API key was revoked; ask for a new one.")
	case !key.Active(now):
		return refused(openai.Authentication, "invalid_api_key", "The API key has expired; ask for a new one.")
	case !key.AllowsAddr(from):
		return refused(openai.Permission, "address_not_allowed", "The API key may not be used from your address.")
	}
	return nil
}

// bearer takes the key out of the Authorization header. Of several headers it
// would be anybody's guess which one whoever stands before us has looked at.
func bearer(h http.Header) (string, *failure) {
	if len(h["Authorization"]) > 1 {
		return "", refused(openai.Authentication, "ambiguous_api_key", "There are several Authorization headers; send one.")
	}
	value := h.Get("Authorization")
	scheme, secret, _ := strings.Cut(value, " ")
	secret = strings.TrimSpace(secret)
	if value == "" || !strings.EqualFold(scheme, "Bearer") || secret == "" {
		return "", refused(openai.Authentication, "missing_api_key",
			"There is no API key; send it in the header \"Authorization: Bearer sk-llmgw-…\".")
	}
	return secret, nil
}

// known reports whether a key of that id is at hand without asking the store.
func (d *door) known(id string, now time.Time) bool {
	if d.declared[id] != nil {
		return true
	}
	f, ok := d.cached(id)
	return ok && f.key != nil && now.Sub(f.at) < d.ttl
}

func (d *door) cached(id string) (*foundKey, bool) {
	v, ok := d.found.Load(id)
	if !ok {
		return nil, false
	}
	return v.(*foundKey), true
}

// find returns nil without an error when there is no such key.
func (d *door) find(ctx context.Context, id string, now time.Time) (*storage.Key, error) {
	if k := d.declared[id]; k != nil || d.keys == nil {
		return k, nil
	}
	old, ok := d.cached(id)
	if ok && now.Sub(old.at) < d.life(old) {
		return old.key, nil
	}
	k, err := d.keys.Key(ctx, id)
	switch {
	case err == nil:
		d.found.Store(id, &foundKey{key: &k, at: now})
		return &k, nil
	case errors.Is(err, storage.ErrNotFound):
		d.found.Store(id, &foundKey{at: now})
		return nil, nil
	case ok && old.key != nil && now.Sub(old.at) < keyOutage:
		return old.key, nil
	}
	return nil, err
}

func (d *door) life(f *foundKey) time.Duration {
	if f.key == nil {
		return min(negativeTTL, d.ttl)
	}
	return d.ttl
}

func (d *door) forget(id string) { d.found.Delete(id) }

// sweep drops what is too old to be of use.
func (d *door) sweep(now time.Time) {
	d.found.Range(func(id, v any) bool {
		f := v.(*foundKey)
		if now.Sub(f.at) >= keyOutage || f.key == nil && now.Sub(f.at) >= negativeTTL {
			d.found.CompareAndDelete(id, v)
		}
		return true
	})
	d.failed.sweep(now)
}
