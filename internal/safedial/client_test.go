package safedial

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// site is a server that a client may reach by any name, for tests of what comes after.
type site struct {
	*httptest.Server
	port uint16
	cfg  Config
}

func newSite(t *testing.T, tls bool, h http.Handler) *site {
	t.Helper()
	s := &site{Server: httptest.NewUnstartedServer(h)}
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	if tls {
		s.EnableHTTP2 = true
		s.StartTLS()
		s.cfg.RootCAs = x509.NewCertPool()
		s.cfg.RootCAs.AddCert(s.Certificate())
	} else {
		s.Start()
		s.cfg.AllowHTTP = true
	}
	t.Cleanup(s.Close)
	ap := netip.MustParseAddrPort(s.Listener.Addr().String())
	s.port = ap.Port()
	s.cfg.Allow = []Allow{{netip.PrefixFrom(ap.Addr(), 32), ap.Port()}}
	s.cfg.Resolve = func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{ap.Addr()}, nil }
	return s
}

func (s *site) url(host, path string) string {
	scheme := "http"
	if s.TLS != nil {
		scheme = "https"
	}
	return fmt.Sprintf("%s://%s:%d%s", scheme, host, s.port, path)
}

func client(t *testing.T, cfg Config) *http.Client {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func fetch(c *http.Client, url string) (string, error) {
	resp, err := c.Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func TestReachesWhatIsAllowed(t *testing.T) {
	t.Parallel()
	s := newSite(t, true, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto+" "+r.Host)
	}))
	got, err := fetch(client(t, s.cfg), s.url("example.com", "/"))
	if err != nil || !strings.HasPrefix(got, "HTTP/2.0 example.com:") {
		t.Errorf("got %q, %v", got, err)
	}
	// The certificate is for another name: whoever answers by address alone is not believed.
	if _, err := fetch(client(t, s.cfg), s.url("wrong.test", "/")); !errors.Is(err, ErrUnreachable) {
		t.Errorf("want %v, got %v", ErrUnreachable, err)
	}
	cfg := s.cfg
	cfg.RootCAs = nil
	if _, err := fetch(client(t, cfg), s.url("example.com", "/")); !errors.Is(err, ErrUnreachable) {
		t.Errorf("want %v, got %v", ErrUnreachable, err)
	}
}

// The name is good when it is looked at and another when it is connected to.
func TestRebinding(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	s := newSite(t, false, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	secret := newSite(t, false, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("reached what is not allowed")
	}))
	var asked atomic.Int32
	s.cfg.Ports = []uint16{secret.port}
	s.cfg.Resolve = func(context.Context, string) ([]netip.Addr, error) {
		if asked.Add(1) == 1 {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("::1"), netip.MustParseAddr("127.0.0.1")}, nil
	}
	c := client(t, s.cfg)
	if _, err := fetch(c, s.url("rebind.example", "/")); err != nil || reached.Load() != 1 || asked.Load() != 1 {
		t.Fatalf("the first answer: %v, reached %d, asked %d", err, reached.Load(), asked.Load())
	}
	c.CloseIdleConnections()
	if _, err := fetch(c, s.url("rebind.example", "/")); !errors.Is(err, ErrRefused) || reached.Load() != 1 {
		t.Errorf("the second answer: want refused, got %v", err)
	}
	if _, err := fetch(c, secret.url("rebind.example", "/")); !errors.Is(err, ErrRefused) {
		t.Errorf("want refused, got %v", err)
	}
}

// Whoever may choose the address learns nothing from the error: not whether a
// port is open, not whether a name exists.
func TestNoOracle(t *testing.T) {
	t.Parallel()
	open := newSite(t, false, http.NotFoundHandler())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := netip.MustParseAddrPort(l.Addr().String())
	_ = l.Close()

	c := client(t, Config{AllowHTTP: true, Ports: []uint16{open.port, closed.Port(), 80}, Resolve: fakeDNS})
	allowed := client(t, Config{AllowHTTP: true, Allow: []Allow{{netip.PrefixFrom(closed.Addr(), 32), closed.Port()}}})
	texts := map[string]bool{}
	for _, call := range []struct {
		client *http.Client
		url    string
	}{
		{c, open.url("127.0.0.1", "/")},
		{c, fmt.Sprintf("http://%s/", closed)},
		{c, open.url("loopback.example", "/")},
		{c, "http://no-such-host.example/"},
		{c, "http://empty.example/"},
		{allowed, fmt.Sprintf("http://%s/", closed)},
	} {
		_, err := fetch(call.client, call.url)
		if err == nil {
			t.Fatalf("%s is let through", call.url)
		}
		texts[Plain(err).Error()] = true
	}
	if len(texts) != 1 {
		t.Errorf("the errors differ: %v", texts)
	}
}

// A server that changes the protocol is refused: an exchange of that kind does
// not end with its context, and no limit holds in it.
func TestChangeOfProtocol(t *testing.T) {
	t.Parallel()
	s := newSite(t, false, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		_, _ = conn.Read(make([]byte, 1)) // until it is closed
	}))
	if _, err := fetch(client(t, s.cfg), s.url("example.com", "/")); !errors.Is(err, ErrUnreachable) {
		t.Errorf("want %v, got %v", ErrUnreachable, err)
	}
}

// The cause is for the log, which has it without what a path or a query holds.
func TestCauseIsLogged(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := client(t, Config{Name: "webhook", Logger: slog.New(slog.NewTextHandler(&out, nil))})
	_, err := fetch(c, "https://10.0.0.1/hook?key=hidden-word")
	if !errors.Is(err, ErrRefused) || strings.Contains(Plain(err).Error(), "hidden-word") {
		t.Errorf("want refused, got %v", err)
	}
	if s := out.String(); !strings.Contains(s, "10.0.0.1:443 is not public") || !strings.Contains(s, "policy=webhook") || strings.Contains(s, "hidden-word") {
		t.Errorf("log: %s", s)
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	s := newSite(t, true, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
			return
		}
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/hops/%d", &n); err == nil && n > 0 {
			http.Redirect(w, r, fmt.Sprintf("/hops/%d", n-1), http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, "here")
	}))
	s.cfg.AllowHTTP = true
	for path, want := range map[string]error{
		"/hops/1":                               nil,
		"/hops/3":                               nil,
		"/hops/4":                               ErrRefused,
		"/hops/11":                              ErrRefused,
		"/?to=" + s.url("example.com", "/"):     nil,
		"/?to=http://169.254.169.254/":          ErrRefused,
		"/?to=https://169.254.169.254/":         ErrRefused,
		"/?to=https://[::ffff:a9fe:a9fe]/":      ErrRefused,
		"/?to=file:///etc/passwd":               ErrRefused,
		"/?to=gopher://127.0.0.1:70/":           ErrRefused,
		"/?to=https://example.com:22/":          ErrRefused,
		"/?to=https://example.com:1/":           ErrRefused,
		"/?to=http://example.com/":              ErrRefused, // plain http is allowed, the way down is not
		"/?to=https://user:pass@example.com/":   ErrRefused,
		"/?to=https://metadata.google.internal": ErrRefused,
		"/?to=https://example.com%255c@1.1.1.1": ErrRefused,
		"/?to=https://example.com%5c@1.1.1.1/":  ErrRefused,
		"/?to=https://[::1":                     ErrRefused,
		"/?to=//127.0.0.1/":                     ErrRefused,
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			got, err := fetch(client(t, s.cfg), s.url("example.com", path))
			if !errors.Is(err, want) || err == nil && got != "here" {
				t.Errorf("want %v, got %q, %v", want, got, err)
			}
			if err != nil && strings.Contains(Plain(err).Error(), "169.254") {
				t.Errorf("the message tells where it went: %v", err)
			}
		})
	}
	none := s.cfg
	none.MaxRedirects = -1
	if _, err := fetch(client(t, none), s.url("example.com", "/hops/1")); !errors.Is(err, ErrRefused) {
		t.Errorf("without redirects: want refused, got %v", err)
	}
}

// Nothing that may be a credential goes to another origin, nor home again by its word.
func TestRedirectsCarryNoCredentials(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	got := map[string]http.Header{}
	var s *site
	s = newSite(t, false, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		got[r.URL.Path] = r.Header.Clone()
		mu.Unlock()
		switch r.URL.Path {
		case "/start":
			http.Redirect(w, r, "/same", http.StatusFound)
		case "/same":
			// A name below the first one is another origin as well.
			http.Redirect(w, r, s.url("sub.a.example", "/other"), http.StatusFound)
		case "/other":
			http.Redirect(w, r, s.url("a.example", "/back"), http.StatusFound)
		case "/post":
			http.Redirect(w, r, s.url("b.example", "/posted"), http.StatusTemporaryRedirect)
		}
	}))
	c := client(t, s.cfg)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url("a.example", "/start"), nil)
	if err != nil {
		t.Fatal(err)
	}
	secret := []string{"Authorization", "Cookie", "X-Api-Key", "Private-Token"}
	for _, name := range secret {
		req.Header.Set(name, "hidden")
	}
	req.Header.Set("Range", "bytes=0-9")
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	mu.Lock()
	defer mu.Unlock()
	for path, want := range map[string]string{"/start": "hidden", "/same": "hidden", "/other": "", "/back": ""} {
		for _, name := range secret {
			if v := got[path].Get(name); v != want {
				t.Errorf("%s: want %s %q, got %q", path, name, want, v)
			}
		}
		if got[path].Get("Range") != "bytes=0-9" || got[path].Get("Referer") != "" {
			t.Errorf("%s: want the range and no referer, got %v", path, got[path])
		}
	}
	mu.Unlock()
	resp, err = c.Post(s.url("a.example", "/post"), "text/plain", strings.NewReader("hidden"))
	if err == nil {
		_ = resp.Body.Close()
	}
	mu.Lock()
	if !errors.Is(err, ErrRefused) || got["/posted"] != nil {
		t.Errorf("a body to another origin: want refused, got %v", err)
	}
}

func TestRequestsAreFixed(t *testing.T) {
	t.Parallel()
	s := newSite(t, false, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("Accept-Encoding"))
	}))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url("a.example", "/"), strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "inner.example"
	resp, err := client(t, s.cfg).Do(req)
	if err == nil {
		_ = resp.Body.Close()
	}
	if !errors.Is(err, ErrURL) {
		t.Errorf("another Host header: want %v, got %v", ErrURL, err)
	}
	if client(t, s.cfg).Transport.(*transport).base.Proxy != nil {
		t.Error("a proxy would connect for us to what we refuse")
	}
	if got, err := fetch(client(t, s.cfg), s.url("a.example", "/")); err != nil || got != "" {
		t.Errorf("compression was asked for: %q, %v", got, err)
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := newSite(t, false, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/ten":
			_, _ = io.WriteString(w, "0123456789")
		case "/streamed":
			for range 20 {
				_, _ = io.WriteString(w, "0123456789")
				w.(http.Flusher).Flush()
			}
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write(make([]byte, 1<<20))
			_ = z.Close()
		case "/short":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "0123456789")
		case "/stall":
			_, _ = io.WriteString(w, "0123456789")
			w.(http.Flusher).Flush()
			<-release
		case "/silent":
			<-release
		}
	}))
	t.Cleanup(func() { close(release) })
	limit := func(n int64, change ...func(*Config)) *http.Client {
		cfg := s.cfg
		cfg.MaxBody = n
		for _, c := range change {
			c(&cfg)
		}
		return client(t, cfg)
	}
	short := func(c *Config) { c.StallTimeout = 50 * time.Millisecond }
	brief := func(c *Config) { c.Timeout = 50 * time.Millisecond }
	impatient := func(c *Config) { c.HeaderTimeout = 50 * time.Millisecond }
	for name, c := range map[string]struct {
		client *http.Client
		path   string
		bytes  int
		want   error
	}{
		"just the limit":           {limit(10), "/ten", 10, nil},
		"length over the limit":    {limit(9), "/ten", 0, ErrTooLarge},
		"no length, over":          {limit(150), "/streamed", 150, ErrTooLarge},
		"no limit":                 {limit(-1), "/streamed", 200, nil},
		"cut short":                {limit(0), "/short", 10, io.ErrUnexpectedEOF},
		"stalled":                  {limit(0, short), "/stall", 10, io.ErrUnexpectedEOF},
		"too long in all":          {limit(0, brief), "/stall", 10, io.ErrUnexpectedEOF},
		"no header":                {limit(0, impatient), "/silent", 0, ErrUnreachable},
		"no header in time at all": {limit(0, brief), "/silent", 0, ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := fetch(c.client, s.url("a.example", c.path))
			if len(got) != c.bytes || !errors.Is(err, c.want) {
				t.Errorf("want %d bytes and %v, got %d and %v", c.bytes, c.want, len(got), err)
			}
		})
	}
	if got, err := fetch(limit(64<<10), s.url("a.example", "/bomb")); err != nil || len(got) > 64<<10 {
		t.Errorf("a packed answer was unpacked: %d bytes, %v", len(got), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url("a.example", "/ten"), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := limit(0).Do(req)
	if err == nil {
		_ = resp.Body.Close()
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the caller's own end: want %v, got %v", context.Canceled, err)
	}
}
