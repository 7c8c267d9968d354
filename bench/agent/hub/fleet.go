package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"llmgw.io/llmgw/agent/protocol"
)

// fleet is all agents, and what they saw.
type fleet struct {
	url    string
	run    string
	agents []*agent
	done   sync.WaitGroup

	mu     sync.Mutex
	here   int
	beat   int
	plain  int // bytes of the largest beat with nothing new in it
	wrong  []error
	spans  []time.Duration // from a change to its agent
	errors int
}

// atOnce is how many connections are being opened at once.
const atOnce = 64

func newFleet(address string, n int) *fleet {
	f := &fleet{url: "http://" + address, run: "0123456789abcdef"}
	dialling := make(chan struct{}, atOnce)
	for i := range n {
		a := &agent{fleet: f, index: i, node: nodeName(i)}
		d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: addressOf(i).AsSlice()}, Timeout: 30 * time.Second}
		t := &http.Transport{
			Protocols: &http.Protocols{}, MaxIdleConnsPerHost: 4, IdleConnTimeout: 2 * time.Minute,
			HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second, MaxEncoderHeaderTableSize: protocol.HeaderTable},
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				dialling <- struct{}{}
				defer func() { <-dialling }()
				return d.DialContext(ctx, network, address)
			},
		}
		t.Protocols.SetUnencryptedHTTP2(true)
		a.http = &http.Client{Transport: t}
		f.agents = append(f.agents, a)
	}
	return f
}

// start begins to play all agents, a thousand in a second.
func (f *fleet) start(ctx context.Context) {
	for i, a := range f.agents {
		f.done.Go(func() { a.run(ctx) })
		if i%50 == 49 {
			pause(ctx, 50*time.Millisecond)
		}
	}
}

func (f *fleet) came() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.here++
}

func (f *fleet) beaten(err error, size, seq int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.note(fmt.Errorf("beat %d: %w", seq, err))
		return
	}
	f.beat++
	if size < 1024 {
		f.plain = max(f.plain, size)
	}
}

func (f *fleet) reached(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.spans = append(f.spans, d)
}

func (f *fleet) failed(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note(err)
}

// note keeps the first errors. The lock is held.
func (f *fleet) note(err error) {
	if f.errors++; len(f.wrong) < 5 {
		f.wrong = append(f.wrong, err)
	}
}

// state is how many came, how often they have beaten, and how often something
// failed.
func (f *fleet) state() (here, beats, errors int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.here, f.beat, f.errors
}

// problems are the first errors there were.
func (f *fleet) problems() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.wrong...)
}

// forget forgets the spans so far.
func (f *fleet) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.spans = nil
}

// seen are the spans so far.
func (f *fleet) seen() []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]time.Duration{}, f.spans...)
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
