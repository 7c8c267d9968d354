package safedial

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
)

// Each is the machine itself, a metadata service or an odd spelling that some
// parser or resolver takes for one. None gets as far as a socket.
var refusedURLs = []string{
	"http://127.0.0.1/", "http://127.0.0.1:443/", "http://127.1/", "http://127.0.1/", "http://2130706433/", "http://0x7f000001/",
	"http://0x7f.0.0.1/", "http://0x7f.1/", "http://0177.0.0.1/", "http://017700000001/", "http://127.0.0.1./", "http://0/", "http://0x0/",
	"http://00000127.0.0.1/", "http://127.0.0.0x1/", "http://256.256.256.256/", "http://1.2.3.4.5/",
	"http://169.254.169.254/latest/meta-data/", "http://2852039166/", "http://0xa9fea9fe/", "http://0251.0376.0251.0376/", "http://169.254.43518/",
	"http://[::1]/", "http://[::]/", "http://[0:0:0:0:0:0:0:1]/", "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/",
	"http://[::ffff:169.254.169.254]/", "http://[64:ff9b::a9fe:a9fe]/", "http://[64:ff9b::127.0.0.1]/", "http://[2002:7f00:1::]/",
	"http://[2001:0:7f00:1::]/", "http://[fe80::1%25eth0]/", "http://[fe80::1%25lo]/", "http://[fd00:ec2::254]/", "http://[::127.0.0.1]/",
	"http://10.0.0.1/", "http://100.64.0.1/", "http://192.168.1.1/", "http://198.18.0.1/", "http://0.0.0.0/",
	"http://metadata.google.internal/", "http://METADATA.google.internal./", "http://metadata/", "http://instance-data/",
	"http://localhost/", "http://localhost./", "http://loopback.example/", "http://mixed.example/", "http://mapped.example/",
	"http://user@public.example/", "http://user:pass@public.example/", "http://public.example@127.0.0.1/", "http://127.0.0.1\\@public.example/",
	"http://public.example\\@127.0.0.1/", "http://public.example:80\\.evil/", "http://public.example%2f@x/", "http://%31%32%37.0.0.1/",
	"http://public.example%00.evil/", "http://127。0。0。1/", "http://①②⑦.⓪.⓪.①/", "http://pub lic.example/", "http://public.example\t/", "http://public.example\r\nHost: x/",
	"http://public.example:22/", "http://public.example:0/", "http://public.example:65536/", "http://public.example:80:80/",
	"http:///etc/passwd", "http://", "http:127.0.0.1", "//127.0.0.1/", "/etc/passwd", "", "127.0.0.1",
	"file:///etc/passwd", "ftp://public.example/", "gopher://127.0.0.1:70/_", "unix:///run/docker.sock", "data:text/plain,x", "javascript:1", "HTTP+unix://x/",
	"http://.example/", "http://a..example/", "http://[::1", "http://[127.0.0.1]/", "http://[::1]x/",
}

func fakeDNS(_ context.Context, host string) ([]netip.Addr, error) {
	table := map[string][]string{
		"localhost": {"127.0.0.1", "::1"}, "loopback.example": {"127.0.0.1"}, "mixed.example": {"8.8.8.8", "10.0.0.1"},
		"mapped.example": {"::ffff:169.254.169.254"}, "empty.example": {},
	}
	list, ok := table[host]
	if !ok {
		return nil, errors.New("no such host")
	}
	var out []netip.Addr
	for _, s := range list {
		out = append(out, netip.MustParseAddr(s))
	}
	return out, nil
}

func TestRefusedURLs(t *testing.T) {
	t.Parallel()
	if len(refusedURLs) < 60 {
		t.Fatalf("only %d URLs", len(refusedURLs))
	}
	p := policy(t, Config{AllowHTTP: true, Resolve: fakeDNS})
	client := p.Client()
	for _, raw := range refusedURLs {
		u, err := p.ParseURL(raw)
		if err != nil {
			if !errors.Is(err, ErrURL) {
				t.Errorf("%q: want %v, got %v", raw, ErrURL, err)
			}
		} else if addr := u.Host; addr != "" {
			// What looks well must be refused by address.
			resp, err := client.Get(u.String())
			if err == nil {
				_ = resp.Body.Close()
			}
			if !errors.Is(err, ErrRefused) {
				t.Errorf("%q: want refused, got %v", raw, err)
			}
		}
		// Nor does it get through for a caller who parses by himself.
		resp, err := client.Get(raw)
		if err == nil {
			_ = resp.Body.Close()
			t.Errorf("%q is let through", raw)
		}
		if errors.Is(err, ErrUnreachable) {
			t.Errorf("%q got as far as connecting", raw)
		}
	}
}

func TestParseURLTakes(t *testing.T) {
	t.Parallel()
	p := policy(t, Config{Allow: allow(t, "10.0.0.0/8:8000")})
	for _, raw := range []string{
		"https://public.example", "https://public.example:443/a?b=c#d", "https://PUBLIC.example./", "https://xn--bcher-kva.example/",
		"https://8.8.8.8/", "https://[2600::1]:80/", "https://my_host.example:8000/", "https://1password.example/", "https://0x7g.example/",
	} {
		u, err := p.ParseURL(raw)
		if err != nil {
			t.Errorf("%q: %v", raw, err)
		} else if u.Scheme != "https" {
			t.Errorf("%q: got %s", raw, u)
		}
	}
	for raw, want := range map[string]string{
		"http://public.example/":               "use https",
		"https://public.example:/":             "no port",
		"https://public.example:8001/":         "port 8001",
		"https://me:secret-word@x.example/":    "user or password",
		"https://x.example/secret-word\x00":    "control character",
		"https://x.example:secret-word/":       "cannot be read",
		"https://metadata.google.internal/key": "metadata",
	} {
		_, err := p.ParseURL(raw)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret-word") {
			t.Errorf("%q: want %q, got %v", raw, want, err)
		}
	}
}

func FuzzParseURL(f *testing.F) {
	for _, raw := range refusedURLs {
		f.Add(raw)
	}
	p, err := NewPolicy(Config{AllowHTTP: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := p.ParseURL(raw)
		if err != nil {
			return
		}
		// What was taken is read the same again.
		again, err := p.ParseURL(u.String())
		if err != nil || again.Host != u.Host || again.Scheme != u.Scheme {
			t.Errorf("%q was taken as %q and is read again as %v, %v", raw, u, again, err)
		}
	})
}
