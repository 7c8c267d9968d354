package safedial

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Client makes a client that reaches what the policy lets it reach. Make one and
// keep it: it holds open connections, each to an address that was judged.
//
// Proxies of the environment are not used, since they would connect for us to
// what we refuse. Bodies are never decompressed: a small answer stays small.
func (p *Policy) Client() *http.Client {
	base := &http.Transport{
		Proxy:                  nil,
		DialContext:            p.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: p.cfg.RootCAs},
		TLSHandshakeTimeout:    p.cfg.TLSTimeout,
		ResponseHeaderTimeout:  p.cfg.HeaderTimeout,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           32,
		IdleConnTimeout:        time.Minute,
	}
	// http.Client.Timeout stays unset: it writes into the error which part was
	// slow, which is what callers must not learn.
	return &http.Client{Transport: &transport{p, base}, CheckRedirect: p.redirect}
}

// transport checks each request, redirected ones too, before the base sends it.
type transport struct {
	policy *Policy
	base   *http.Transport
}

// RoundTrip sends one request.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	p := t.policy
	if err := p.checkRequest(req); err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	stop := func() bool { return false }
	if p.cfg.Timeout > 0 {
		stop = time.AfterFunc(p.cfg.Timeout, func() { cancel(errors.New("timeout of the whole request")) }).Stop
	}
	end := func() { stop(); cancel(nil) }
	resp, err := t.base.RoundTrip(req.WithContext(ctx))
	if err != nil {
		cause := context.Cause(ctx)
		end()
		return nil, p.sealed(req, errors.Join(err, cause))
	}
	if err := p.checkAnswer(req, resp); err != nil {
		_ = resp.Body.Close()
		end()
		return nil, err
	}
	resp.Request = req
	resp.Body = &body{
		rc: resp.Body, left: p.cfg.MaxBody, stall: p.cfg.StallTimeout,
		caller: req.Context(), ctx: ctx, cancel: cancel, end: end, policy: p, host: req.URL.Host,
	}
	return resp, nil
}

// CloseIdleConnections lets http.Client.CloseIdleConnections work.
func (t *transport) CloseIdleConnections() { t.base.CloseIdleConnections() }

// sealed keeps the kind of an error and drops its words.
func (p *Policy) sealed(req *http.Request, err error) error {
	if ctxErr := req.Context().Err(); ctxErr != nil {
		return ctxErr
	}
	for _, said := range []error{ErrRefused, ErrUnreachable} {
		if errors.Is(err, said) {
			return said // the dialer has logged why
		}
	}
	return p.failed(context.Background(), req.URL.Host, err)
}

// checkRequest judges what is to be sent. The Host header must be the URL's, or
// a front server would be asked for another name than the one judged.
func (p *Policy) checkRequest(req *http.Request) error {
	if _, err := p.target(req.URL); err != nil {
		return err
	}
	if req.Host != "" && req.Host != req.URL.Host {
		return fmt.Errorf("%w: the Host header is another than the URL's host", ErrURL)
	}
	return nil
}

// checkAnswer looks at an answer's header. An address to go on to is looked at
// here already, for http.Client would repeat in its error one it cannot read.
func (p *Policy) checkAnswer(req *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusSwitchingProtocols {
		// Such an exchange ends with no context and keeps to no limit.
		return p.failed(context.Background(), req.URL.Host, errors.New("the protocol was changed, which nobody asked for"))
	}
	if p.cfg.MaxBody > 0 && resp.ContentLength > p.cfg.MaxBody {
		return fmt.Errorf("%w: %d bytes, and at most %d are taken", ErrTooLarge, resp.ContentLength, p.cfg.MaxBody)
	}
	if resp.StatusCode/100 != 3 {
		return nil
	}
	next := resp.Header.Get("Location")
	if err := plain(next); err != nil {
		return p.refused(req.URL.Host, fmt.Errorf("redirect: %w", err))
	}
	if _, err := url.Parse(next); err != nil {
		return p.refused(req.URL.Host, errors.New("redirect: the location cannot be read"))
	}
	return nil
}

// carried are the headers that follow a redirect to another origin. All others
// stay behind, since any of them may be a credential, whatever its name.
var carried = []string{
	"Accept", "Accept-Language", "User-Agent", "Range",
	"If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since",
}

// redirect judges one hop. Its errors are sealed: a redirect is the far side's
// word, and what we think of it is a hint about what lies behind.
func (p *Policy) redirect(req *http.Request, via []*http.Request) error {
	if err := p.judgeRedirect(req, via); err != nil {
		return p.refused(req.URL.Host, fmt.Errorf("redirect from %s: %w", via[len(via)-1].URL.Host, err))
	}
	if !crossed(req, via) {
		req.Header.Del("Referer")
		return nil
	}
	kept := http.Header{}
	for _, name := range carried {
		if v := req.Header.Values(name); len(v) > 0 {
			kept[name] = v
		}
	}
	req.Header = kept
	return nil
}

func (p *Policy) judgeRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > max(p.cfg.MaxRedirects, 0) {
		return fmt.Errorf("hop %d is one too many", len(via))
	}
	if _, err := p.target(req.URL); err != nil {
		return err
	}
	if via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return errors.New("from https down to http")
	}
	if req.Body != nil && crossed(req, via) {
		return errors.New("a body would follow to another origin")
	}
	return nil
}

// crossed says whether another origin had a hand in this hop. Coming back to the
// first one does not count as home: the stranger chose where to.
func crossed(req *http.Request, via []*http.Request) bool {
	home := via[0].URL
	for _, r := range via[1:] {
		if !sameOrigin(home, r.URL) {
			return true
		}
	}
	return !sameOrigin(home, req.URL)
}

func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }
