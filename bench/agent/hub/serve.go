package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"time"

	"llmgw.io/llmgw/agent/hub"
	"llmgw.io/llmgw/internal/heap"
	"llmgw.io/llmgw/internal/pki"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
	"llmgw.io/llmgw/storage/memstore"
)

// serve is the hub's process: it prints where it listens, and does what it is
// told by its input until that ends.
func serve(ctx context.Context, agents int) error {
	ca, err := pki.NewCA("bench", time.Now())
	if err != nil {
		return err
	}
	registry, err := inventory.NewRegistry(ctx, inventory.RegistryConfig{Store: memstore.New()}, time.Now())
	if err != nil {
		return err
	}
	h, err := hub.New(hub.Config{Registry: registry, Enrolment: nobodyJoins{}, CA: ca, EngineKey: storage.NewPepper().EngineKey})
	if err != nil {
		return err
	}
	door := &door{}
	if door.chains, err = certify(ca, agents); err != nil {
		return err
	}
	srv, err := h.Server(nil)
	if err != nil {
		return err
	}
	door.next, srv.Handler, srv.TLSConfig = srv.Handler, door, nil
	srv.ErrorLog = log.New(io.Discard, "", 0) // what fails, the agents see
	srv.Protocols = &http.Protocols{}
	srv.Protocols.SetUnencryptedHTTP2(true)
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { _ = heap.Run(ctx) }() // as the control plane's command has it
	go func() { _ = registry.Run(ctx) }()
	go func() { _ = h.Run(ctx) }()
	go func() { _ = srv.Serve(l) }()
	fmt.Println(l.Addr())
	return obey(ctx, h, agents)
}

// obey does what each line of the input says, and answers it with a line.
func obey(ctx context.Context, h *hub.Hub, agents int) error {
	o := newOrders(h, agents)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var word, argument string
		var count int
		var every time.Duration
		_, _ = fmt.Sscan(lines.Text(), &word, &argument) // a word may be alone
		var err error
		switch word {
		case "order":
			err = o.all(ctx)
		case "change":
			var each int64
			if _, err = fmt.Sscan(lines.Text(), &word, &count, &each); err == nil {
				every = time.Duration(each)
				err = o.change(ctx, count, every)
			}
		case "profile":
			err = profile(argument)
		case "profiled":
			pprof.StopCPUProfile()
			err = heapProfile(argument)
		default:
			err = fmt.Errorf("nobody here knows what %q is", word)
		}
		if err != nil {
			return err
		}
		fmt.Println("done")
	}
	return lines.Err()
}

func profile(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return pprof.StartCPUProfile(f) // the file is closed with the process
}

func heapProfile(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Fprintf(os.Stderr, "in use %d MiB, of it stacks %d; spans of the heap %d, idle %d, given back %d; other %d; %d collections\n",
		(m.HeapAlloc+m.StackInuse)>>20, m.StackInuse>>20, m.HeapInuse>>20, m.HeapIdle>>20, m.HeapReleased>>20, (m.Sys-m.HeapSys-m.StackSys)>>20, m.NumGC)
	runtime.GC()
	return errors.Join(pprof.WriteHeapProfile(f), f.Close())
}

// door says who calls, as the TLS side would have.
type door struct {
	next   http.Handler
	chains [][]*x509.Certificate
}

// ServeHTTP hands a request on with its caller's certificate.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i, err := indexOf(r.RemoteAddr)
	if err != nil || i < 0 || i >= len(d.chains) {
		http.Error(w, "no agent calls from there", http.StatusForbidden)
		return
	}
	r.TLS = &tls.ConnectionState{PeerCertificates: d.chains[i]}
	d.next.ServeHTTP(w, r)
}

// certify makes the agents' certificates, all for one key: it is never used.
func certify(ca *pki.CA, agents int) ([][]*x509.Certificate, error) {
	_, csr, err := pki.NewRequest("bench")
	if err != nil {
		return nil, err
	}
	chains := make([][]*x509.Certificate, agents)
	for i := range chains {
		cert, _, err := ca.SignNode(csr, nodeName(i), time.Now(), 0)
		if err != nil {
			return nil, err
		}
		if chains[i], err = pki.ParseCertificates(cert); err != nil {
			return nil, err
		}
	}
	return chains, nil
}

// nobodyJoins is an enrolment that is empty.
type nobodyJoins struct{}

// UseJoinToken knows no token.
func (nobodyJoins) UseJoinToken(context.Context, string, string, inventory.NodeID, time.Time) error {
	return hub.ErrTokenUnknown
}

// KeepCertificate keeps nothing.
func (nobodyJoins) KeepCertificate(context.Context, inventory.Certificate) error { return nil }

// Revocations has none.
func (nobodyJoins) Revocations(context.Context) ([]inventory.Revocation, error) { return nil, nil }
