package main

import (
	"context"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof" // the allocs profile's header has the runtime's counters
	"strings"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/internal/socket"
	"llmgw.io/llmgw/router"
	"llmgw.io/llmgw/storage"
)

// fleet is one model and its replicas; it never changes.
type fleet struct {
	index    *catalog.Index
	replicas []router.Backend
}

func (f *fleet) Index() *catalog.Index                  { return f.index }
func (f *fleet) Backends(catalog.Name) []router.Backend { return f.replicas }
func (f *fleet) Changed() <-chan struct{}               { return nil }

// nothing keeps no rows.
type nothing struct{}

func (nothing) AppendUsage(context.Context, []storage.Request) error { return nil }

func run(listen, pprof, replicas, key string) error {
	m := catalog.Model{Name: "bench-model", Profiles: []catalog.Profile{{Name: "stub", Engine: catalog.EngineLlamaCPP}}}
	f := &fleet{index: catalog.NewIndex(1, []catalog.Entry{{Model: m, Revision: 1}})}
	for address := range strings.SplitSeq(replicas, ",") {
		f.replicas = append(f.replicas, router.Backend{ID: address, Address: address})
	}
	pepper := storage.Pepper("of this run alone")
	id, _ := storage.KeyID(key)
	r, err := router.New(router.Config{
		Models: f, Backends: f, Usage: nothing{}, Pepper: pepper, Picker: router.LeastOutstanding{},
		Declared: []storage.Key{{ID: id, Hash: pepper.Hash(key)}},
	})
	if err != nil {
		return err
	}
	go func() { _ = r.Run(context.Background()) }() // until the process ends
	go func() {
		srv := http.Server{Addr: pprof, ReadHeaderTimeout: time.Second}
		log.Print(srv.ListenAndServe())
	}()
	ln, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	srv := http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second}
	return srv.Serve(socket.Listener(ln))
}
