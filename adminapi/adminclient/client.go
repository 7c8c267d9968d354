package adminclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

const base = "/api/v1"

// largest bounds an answer that is not a stream.
const largest = 64 << 20

// Config is what a Client needs.
type Config struct {
	// BaseURL is where the admin listener is: "http://127.0.0.1:7070", with a
	// path when the API is mounted under one. Required.
	BaseURL string
	// Token is an admin token. Empty: none is sent.
	Token string
	// Actor says who acts, for the audit log; a claim. Empty: nobody is named.
	Actor string
	// HTTP sends the requests. Nil: a client without a limit on time, since
	// logs may be followed; callers bound others by their context.
	HTTP *http.Client
}

// Client speaks to one control plane.
type Client struct {
	base  *url.URL
	token string
	actor string
	http  *http.Client
}

// New checks the configuration.
func New(cfg Config) (*Client, error) {
	u, err := url.Parse(strings.TrimRight(cfg.BaseURL, "/"))
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("adminclient: %q is no address of a control plane; write one such as http://127.0.0.1:7070", cfg.BaseURL)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("adminclient: the address must hold no user, query or fragment; a token is given by itself")
	}
	c := &Client{base: u, token: cfg.Token, actor: cfg.Actor, http: cfg.HTTP}
	if c.http == nil {
		c.http = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	return c, nil
}

// ask is one request in the making. Segments of the path are escaped, so that
// a name may hold slashes.
type ask struct {
	method  string
	path    []string
	query   url.Values
	body    any
	ifMatch string
}

// do sends a request, decodes its answer, and returns the answer's header. into
// nil drops it.
func (c *Client) do(ctx context.Context, a ask, into any) (http.Header, error) {
	resp, err := c.send(ctx, a)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, largest))
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", c.base.Host, err)
	}
	if into == nil {
		return resp.Header, nil
	}
	if err := json.Unmarshal(b, into); err != nil {
		return nil, fmt.Errorf("the answer of %s is not what this client knows; is it a control plane of another version? %w", c.base.Host, err)
	}
	return resp.Header, nil
}

// send sends a request; the caller closes the answer's body.
func (c *Client) send(ctx context.Context, a ask) (*http.Response, error) {
	var body io.Reader
	if a.body != nil {
		b, err := json.Marshal(a.body)
		if err != nil {
			return nil, fmt.Errorf("encode a request: %w", err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, a.method, c.url(a), body)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	if a.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.actor != "" {
		req.Header.Set("X-Llmgw-Actor", c.actor)
	}
	if a.ifMatch != "" {
		req.Header.Set("If-Match", a.ifMatch)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("reach the control plane: %w", err)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		defer resp.Body.Close()
		return nil, refusal(resp)
	}
	return resp, nil
}

func (c *Client) url(a ask) string {
	var b strings.Builder
	b.WriteString(c.base.String() + base)
	for _, s := range a.path {
		b.WriteString("/" + url.PathEscape(s))
	}
	if len(a.query) > 0 {
		b.WriteString("?" + a.query.Encode())
	}
	return b.String()
}

// get asks for one thing.
func get[T any](ctx context.Context, c *Client, query url.Values, path ...string) (T, error) {
	var out T
	_, err := c.do(ctx, ask{method: http.MethodGet, path: path, query: query}, &out)
	return out, err
}

// post orders one thing.
func post[T any](ctx context.Context, c *Client, body any, path ...string) (T, error) {
	var out T
	_, err := c.do(ctx, ask{method: http.MethodPost, path: path, body: body}, &out)
	return out, err
}

// remove takes one thing away.
func remove[T any](ctx context.Context, c *Client, path ...string) (T, error) {
	var out T
	_, err := c.do(ctx, ask{method: http.MethodDelete, path: path}, &out)
	return out, err
}
