package router_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router"
	"llmgw.io/llmgw/router/routertest"
	"llmgw.io/llmgw/storage"
)

// BenchmarkRequest carries small requests over real sockets, and beside it the
// standard library's proxy does the same. Client and engine are in the figures
// of both, so the router's share is larger than they show.
func BenchmarkRequest(b *testing.B) {
	for name, body := range map[string]string{"whole": chatBody, "stream": usageBody, "64k": bodyOf(64 << 10)} {
		engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			_, _ = io.Copy(io.Discard, req.Body)
			call := routertest.Call{Path: req.URL.Path, Body: []byte(chatBody), Request: req}
			if name == "stream" {
				call.Body = []byte(usageBody)
			}
			routertest.Hello(w, call)
		}))
		defer engine.Close()
		b.Run(name+"/router", func(b *testing.B) {
			id, secret := storage.NewKeySecret()
			var fleet routertest.Fleet
			var books routertest.Books
			fleet.Set("m", router.Backend{ID: "r1", Address: engine.URL, Key: "k"})
			r, err := router.New(router.Config{
				Models: routertest.NewCatalog(catalog.Model{Name: "m", Profiles: managed()}), Backends: &fleet, Usage: &books,
				Pepper: pepper, Dir: b.TempDir(), Declared: []storage.Key{{ID: id, Hash: pepper.Hash(secret)}},
			})
			if err != nil {
				b.Fatal(err)
			}
			load(b, r, secret, body)
		})
		b.Run(name+"/httputil", func(b *testing.B) {
			u, err := url.Parse(engine.URL)
			if err != nil {
				b.Fatal(err)
			}
			p := httputil.NewSingleHostReverseProxy(u)
			p.Transport = &http.Transport{MaxIdleConnsPerHost: 1024, DisableCompression: true}
			load(b, p, "x", body)
		})
	}
}

func load(b *testing.B, h http.Handler, secret, body string) {
	front := httptest.NewServer(h)
	defer front.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024}}
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			req, _ := http.NewRequestWithContext(b.Context(), http.MethodPost, front.URL+chatPath, strings.NewReader(body))
			req.Header.Set("Authorization", "Bearer "+secret)
			res, err := client.Do(req)
			if err != nil {
				b.Error(err)
				return
			}
			if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != 200 {
				b.Error(res.StatusCode, err)
			}
			res.Body.Close()
		}
	})
}
