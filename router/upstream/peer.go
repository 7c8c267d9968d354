package upstream

import (
	"context"
	"net"
	"sync"
	"time"

	"llmgw.io/llmgw/internal/socket"
)

// peer is one replica's connections that are idle.
type peer struct {
	cfg *Config

	mu    sync.Mutex
	idle  []*conn // the one that was used last is at the end, and is used next
	timer *time.Timer
	armed bool
	gone  bool
}

// conn is one connection. Whoever took it has it alone, but for close.
type conn struct {
	net.Conn
	plain net.Conn // the same without a wrapper of ours
	peer  *peer
	at    place
	in    reader
	abort func() // closes; made once
	since time.Time
	used  bool // it has carried an exchange
}

// take gives an idle connection that nothing has happened to; nil: there is none.
func (p *peer) take(at place) *conn {
	for {
		p.mu.Lock()
		n := len(p.idle) - 1
		if n < 0 {
			p.mu.Unlock()
			return nil
		}
		c := p.idle[n]
		p.idle[n] = nil
		p.idle = p.idle[:n]
		p.mu.Unlock()
		if c.at == at && time.Since(c.since) < p.cfg.Idle && c.in.quiet() {
			return c
		}
		c.abort()
	}
}

// dialled is what dialling gave: a connection, and what it runs over.
type dialled struct {
	nc, below net.Conn
	err       error
}

// dial opens a connection. It has a goroutine do it, since dialling goes deep:
// the stack that it needs would stay with a caller who may carry a stream for
// hours.
func (p *peer) dial(ctx context.Context, at place) (*conn, error) {
	made := make(chan dialled, 1)
	go func() {
		made <- p.cfg.open(ctx, at)
	}()
	d := <-made
	if d.err != nil {
		return nil, d.err
	}
	c := &conn{Conn: socket.Quiet(d.nc), plain: d.nc, peer: p, at: at}
	c.in.init(d.nc, d.below)
	// What runs over another is not closed by itself: it would wait to say goodbye.
	c.abort = func() { _ = d.below.Close() } // there is nobody to tell
	return c, nil
}

// put keeps a connection for the next request.
func (p *peer) put(c *conn) {
	c.used, c.since = true, time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		c.abort()
		return
	}
	p.idle = append(p.idle, c)
	p.arm(p.cfg.Idle)
}

// arm has what is idle for too long closed.
func (p *peer) arm(d time.Duration) {
	switch {
	case p.armed:
		return
	case p.timer == nil:
		p.timer = time.AfterFunc(d, p.sweep)
	default:
		p.timer.Reset(d)
	}
	p.armed = true
}

// sweep closes those that were used longest ago. The oldest are at the front.
func (p *peer) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = false
	now, n := time.Now(), 0
	for n < len(p.idle) && now.Sub(p.idle[n].since) >= p.cfg.Idle {
		p.idle[n].abort()
		n++
	}
	left := copy(p.idle, p.idle[n:])
	clear(p.idle[left:])
	p.idle = p.idle[:left]
	if left > 0 {
		p.arm(max(p.cfg.Idle-now.Sub(p.idle[0].since), time.Millisecond))
	}
}

// close closes what is idle, and what comes back later too where the replica is
// gone for good.
func (p *peer) close(gone bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = p.gone || gone
	for _, c := range p.idle {
		c.abort()
	}
	p.idle = nil
	if p.timer != nil {
		p.timer.Stop()
	}
	p.armed = false
}
