package main

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	killRate = 500             // requests a second
	killRuns = 3 * time.Second // half of it before the kill
	// works is how long the engine takes, so that some requests are at work when
	// it dies.
	works = 20 * time.Millisecond
)

// kill sends requests at a steady rate, has one of the replicas die in the midst
// of them, and counts those that were not answered well.
func (c *client) kill(e *engine, die func() error) (sent, failed int, err error) {
	e.works.Store(int64(works))
	defer e.works.Store(0)
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = killRate
	var all sync.WaitGroup
	var bad atomic.Int64
	var first atomic.Pointer[error]
	tick := time.NewTicker(time.Second / killRate)
	defer tick.Stop()
	for n := int(killRuns / (time.Second / killRate)); sent < n; sent++ {
		<-tick.C
		if sent == n/2 {
			if err := die(); err != nil {
				return sent, 0, err
			}
		}
		all.Go(func() {
			if err := c.post(`{"model":"bench-model","messages":[{"role":"user","content":"hi"}]}`); err != nil {
				bad.Add(1)
				first.CompareAndSwap(nil, &err)
			}
		})
	}
	all.Wait()
	if at := first.Load(); at != nil {
		fmt.Printf("of the requests around the kill: %v\n", *at)
	}
	return sent, int(bad.Load()), nil
}
