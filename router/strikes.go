package router

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// strikes counts wrong credentials by address, so that guessing costs the
// guesser and not the store.
type strikes struct {
	perMinute int // negative: any number
	mu        sync.Mutex
	byAddr    map[netip.Prefix]*rate.Limiter
}

func newStrikes(perMinute int) *strikes {
	return &strikes{perMinute: perMinute, byAddr: map[netip.Prefix]*rate.Limiter{}}
}

// out reports whether an address has used up its tries.
func (s *strikes) out(from netip.Addr, now time.Time) bool {
	if s.perMinute < 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.byAddr[network(from)]
	return l != nil && l.TokensAt(now) < 1
}

func (s *strikes) add(from netip.Addr, now time.Time) {
	if s.perMinute < 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.byAddr[network(from)]
	if l == nil {
		l = rate.NewLimiter(rate.Limit(float64(s.perMinute)/60), s.perMinute)
		s.byAddr[network(from)] = l
	}
	l.AllowN(now, 1)
}

// sweep drops addresses that have all their tries again.
func (s *strikes) sweep(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for a, l := range s.byAddr {
		if l.TokensAt(now) >= float64(s.perMinute) {
			delete(s.byAddr, a)
		}
	}
}

// network is what counts as one address: of IPv6 a /64, since whoever has one
// address of it has them all.
func network(a netip.Addr) netip.Prefix {
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
