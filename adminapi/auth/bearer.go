package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"llmgw.io/llmgw/storage"
)

// Tokens is where admin tokens are looked up. It may block and may be called at
// once from many goroutines; an id that is not there answers an error that
// matches storage.ErrNotFound.
type Tokens interface {
	AdminToken(ctx context.Context, id string) (storage.AdminToken, error)
}

// Config is what a Bearer needs.
type Config struct {
	// Tokens is required.
	Tokens Tokens
	// Pepper is the secret under which tokens are hashed. Required.
	Pepper storage.Pepper
	// FailuresPerMinute is how many wrong credentials an address may send.
	// Default 10.
	FailuresPerMinute int
	// Logger nil is silent.
	Logger *slog.Logger
}

// forgetRefused is how long a refused token is remembered, so that a caller who
// repeats one costs no look-up.
const forgetRefused = time.Second

// remembered bounds each of the tables that foreign addresses can fill.
const remembered = 4096

// digest stands for a token in memory, so that no table holds one.
type digest [sha256.Size]byte

// Bearer checks admin tokens.
type Bearer struct {
	tokens Tokens
	pepper storage.Pepper
	dummy  string // what a miss is compared with, so that it takes as long as a hit
	limit  *failures
	logger *slog.Logger

	mu      sync.Mutex
	refused map[digest]time.Time // until when
	good    map[digest]bool      // was valid before; looked up again each time
}

// New checks the configuration.
func New(cfg Config) (*Bearer, error) {
	var all []error
	if cfg.Tokens == nil {
		all = append(all, errors.New("auth: Tokens is required"))
	}
	if len(cfg.Pepper) < 32 {
		all = append(all, errors.New("auth: Pepper needs at least 32 bytes; make one with storage.NewPepper"))
	}
	if cfg.FailuresPerMinute < 0 {
		all = append(all, fmt.Errorf("auth: FailuresPerMinute is %d; leave it 0 for the default", cfg.FailuresPerMinute))
	}
	if len(all) > 0 {
		return nil, errors.Join(all...)
	}
	if cfg.FailuresPerMinute == 0 {
		cfg.FailuresPerMinute = 10
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Bearer{
		tokens: cfg.Tokens, pepper: cfg.Pepper, dummy: cfg.Pepper.Hash("nobody"), limit: newFailures(cfg.FailuresPerMinute),
		logger: cfg.Logger, refused: map[digest]time.Time{}, good: map[digest]bool{},
	}, nil
}

// Authenticate says who sends the request. Errors match ErrMissing or
// ErrRefused, are a ThrottledError, or are the store's.
func (b *Bearer) Authenticate(r *http.Request) (Identity, error) {
	token, ok := bearer(r)
	if !ok {
		return Identity{}, ErrMissing
	}
	now, from := time.Now(), peer(r.RemoteAddr)
	d := digest(sha256.Sum256([]byte(token)))
	// An address that failed too often is not looked up for, but for tokens
	// that were right before: one broken script must not lock out its machine.
	if wait := b.limit.wait(from, now); wait > 0 && !b.wasGood(d) {
		return Identity{}, &ThrottledError{RetryAfter: wait}
	}
	id, err := b.check(r.Context(), token, d, now)
	if errors.Is(err, ErrRefused) {
		if b.limit.fail(from, now) {
			b.logger.Warn("an address sent too many wrong admin tokens; it is refused for a while", "addr", from)
		}
	}
	return id, err
}

// bearer reads the token. Any other scheme is no credential.
func bearer(r *http.Request) (string, bool) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	return token, ok && strings.EqualFold(scheme, "Bearer") && token != ""
}

// check looks the token up. Malformed and just refused ones cost no look-up.
func (b *Bearer) check(ctx context.Context, token string, d digest, now time.Time) (Identity, error) {
	id, ok := storage.AdminTokenID(token)
	if !ok || b.justRefused(d, now) {
		b.pepper.Matches(token, b.dummy)
		return Identity{}, ErrRefused
	}
	t, err := b.tokens.AdminToken(ctx, id)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		b.pepper.Matches(token, b.dummy)
		b.remember(d, false, now)
		return Identity{}, ErrRefused
	case err != nil:
		return Identity{}, fmt.Errorf("look up an admin token: %w", err)
	}
	valid := b.pepper.Matches(token, t.Hash)
	if !valid || !t.RevokedAt.IsZero() || expired(t, now) || len(Scopes(t.Role)) == 0 {
		b.remember(d, false, now)
		return Identity{}, ErrRefused
	}
	b.remember(d, true, now)
	return Identity{Principal: principal(t), Role: t.Role}, nil
}

func expired(t storage.AdminToken, now time.Time) bool {
	return !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt)
}

func principal(t storage.AdminToken) string {
	if t.Name != "" {
		return "token:" + t.Name
	}
	return "token:" + t.ID
}

func (b *Bearer) wasGood(d digest) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.good[d]
}

func (b *Bearer) justRefused(d digest, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	until, ok := b.refused[d]
	return ok && now.Before(until)
}

// remember keeps the outcome; a table that is full forgets what it can.
func (b *Bearer) remember(d digest, valid bool, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if valid {
		makeRoom(b.good, func(bool) bool { return false })
		b.good[d] = true
		delete(b.refused, d)
		return
	}
	delete(b.good, d)
	makeRoom(b.refused, func(until time.Time) bool { return !now.Before(until) })
	b.refused[d] = now.Add(forgetRefused)
}

// makeRoom keeps a table bounded: when it is full, what is stale goes, and one
// entry more when nothing was.
func makeRoom[K comparable, V any](m map[K]V, stale func(V) bool) {
	if len(m) < remembered {
		return
	}
	for k, v := range m {
		if stale(v) {
			delete(m, k)
		}
	}
	for k := range m {
		if len(m) < remembered {
			return
		}
		delete(m, k)
	}
}
