package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// streams are answers that go on until they are stopped.
type streams struct {
	cancel context.CancelFunc
	all    sync.WaitGroup

	mu      sync.Mutex
	stopped bool
	broken  int
	chunks  int
}

// open asks for answers without an end, and returns once each has begun.
func (p *plane) open(ctx context.Context, n int) (*streams, error) {
	ctx, cancel := context.WithCancel(ctx)
	s := &streams{cancel: cancel}
	for range n {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.at.Client+"/v1/chat/completions",
			strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"user","content":"hello"}]}`))
		if err != nil {
			cancel()
			return nil, err
		}
		req.Header.Set("Authorization", "Bearer "+p.key)
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			cancel()
			return nil, err
		}
		if res.StatusCode != http.StatusOK {
			cancel()
			return nil, fmt.Errorf("a stream was answered %s", res.Status)
		}
		s.all.Go(func() {
			defer res.Body.Close()
			s.read(res)
		})
	}
	return s, nil
}

// read reads until the stream ends, which it does not do by itself.
func (s *streams) read(res *http.Response) {
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if strings.Contains(lines.Text(), `"word`) || strings.Contains(lines.Text(), ` word`) {
			s.mu.Lock()
			s.chunks++
			s.mu.Unlock()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped {
		s.broken++
	}
}

// stop ends what still goes on.
func (s *streams) stop() {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.cancel()
	s.all.Wait()
}

// result is how many ended before they were stopped, and what all brought.
func (s *streams) result() (broken, chunks int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken, s.chunks
}
