package auth

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// failures counts wrong credentials by address.
type failures struct {
	each  rate.Limit
	burst int

	mu     sync.Mutex
	byAddr map[netip.Prefix]*rate.Limiter
}

func newFailures(perMinute int) *failures {
	return &failures{
		each: rate.Every(time.Minute / time.Duration(perMinute)), burst: perMinute, byAddr: map[netip.Prefix]*rate.Limiter{},
	}
}

// wait is how long the address has to wait. Zero: it may try now.
func (f *failures) wait(from netip.Prefix, now time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	l, ok := f.byAddr[from]
	if !ok {
		return 0
	}
	missing := 1 - l.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return time.Duration(missing / float64(f.each) * float64(time.Second))
}

// fail counts one, and says whether it was the last that was allowed.
func (f *failures) fail(from netip.Prefix, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	l, ok := f.byAddr[from]
	if !ok {
		makeRoom(f.byAddr, func(l *rate.Limiter) bool { return l.TokensAt(now) >= float64(f.burst) })
		l = rate.NewLimiter(f.each, f.burst)
		f.byAddr[from] = l
	}
	before := l.TokensAt(now)
	l.AllowN(now, 1)
	return before >= 1 && l.TokensAt(now) < 1
}

// peer is the address that the connection comes from: a single one for IPv4, a
// network of 64 bits for IPv6, of which a machine has as many as it likes.
// Headers that name another address are never believed here. The zero prefix
// stands for all that have none, such as connections in memory.
func peer(remote string) netip.Prefix {
	ap, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	a := ap.Addr().Unmap().WithZone("")
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}
