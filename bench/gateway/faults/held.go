package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router"
	"llmgw.io/llmgw/router/routertest"
	"llmgw.io/llmgw/storage"
)

// nothing keeps no rows.
type nothing struct{}

func (nothing) AppendUsage(context.Context, []storage.Request) error { return nil }

// held has requests wait for a model without a replica, and measures from the
// moment in which there is one until its engine hears the request. The router is
// in this process, since only its owner can say when a replica is ready.
func held(key string, trials int) (p99 time.Duration, err error) {
	asked, heard := make(chan struct{}, 1), make(chan time.Time, 1)
	fleet := &routertest.Fleet{OnAsked: func(catalog.Name) { asked <- struct{}{} }}
	m := catalog.Model{Name: "bench-model", Profiles: []catalog.Profile{{Name: "stub", Engine: catalog.EngineLlamaCPP}}}
	pepper := storage.Pepper("of this run alone")
	id, _ := storage.KeyID(key)
	r, err := router.New(router.Config{
		Models: routertest.NewCatalog(m), Backends: fleet, Demand: fleet, Usage: nothing{}, Pepper: pepper,
		Declared: []storage.Key{{ID: id, Hash: pepper.Hash(key)}},
	})
	if err != nil {
		return 0, err
	}
	front, err := listen(r)
	if err != nil {
		return 0, err
	}
	back, err := listen(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		heard <- time.Now()
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(whole))
	}))
	if err != nil {
		return 0, err
	}
	c := &client{address: front, key: key}
	var took []time.Duration
	for n := range trials {
		fleet.Set(m.Name)
		done := make(chan error, 1)
		go func() { done <- c.post(`{"model":"bench-model","messages":[{"role":"user","content":"hi"}]}`) }()
		<-asked
		time.Sleep(time.Millisecond) // it waits now
		ready := time.Now()
		fleet.Set(m.Name, router.Backend{ID: fmt.Sprint("m-", n), Address: back})
		if err := <-done; err != nil {
			return 0, err
		}
		took = append(took, (<-heard).Sub(ready))
	}
	slices.Sort(took)
	return took[min(len(took)*99/100, len(took)-1)], nil
}

// listen serves until the process ends.
func listen(h http.Handler) (address string, err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { _ = srv.Serve(ln) }()
	return ln.Addr().String(), nil
}
