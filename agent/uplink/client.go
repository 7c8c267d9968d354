package uplink

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/internal/pki"
	"llmgw.io/llmgw/inventory"
)

// Config is how a machine that has joined speaks to its control plane.
type Config struct {
	// DataDir holds the identity that Join wrote. Required.
	DataDir string
	// Control are addresses to use instead of those that are kept. May be empty.
	Control []string
	// Logger nil is silent.
	Logger *slog.Logger
}

// Client is an agent's Control over HTTP/2 with mutual TLS. It knows several addresses, goes
// on to the next when one does not answer, and follows the word of a control
// plane that does not lead. Its methods may be called at once from many
// goroutines. Run renews its certificate.
type Client struct {
	cfg  Config
	node inventory.NodeID
	conf *tls.Config
	pair *pki.KeyPair
	// http is another one after each renewal: a poll keeps its connection busy
	// for ever, so an old certificate would be shown until it ends.
	http atomic.Pointer[http.Client]
	// transport makes what a connection is opened by; tests have their own.
	transport func(*tls.Config) http.RoundTripper
	gates     gates

	mu      sync.Mutex
	id      identity
	control []string
	current int
}

// New reads the identity. An error that matches ErrNotJoined says that
// there is none.
func New(cfg Config) (*Client, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	id, err := readIdentity(cfg.DataDir)
	if err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg, id: id, node: inventory.NodeID(id.Node), transport: transportWith}
	for _, s := range orElse(cfg.Control, id.Control) {
		u, err := controlURL(s)
		if err != nil {
			return nil, err
		}
		c.control = append(c.control, u)
	}
	if len(c.control) == 0 {
		return nil, errors.New("uplink: no address of the control plane is known; give one, or join again")
	}
	trust, err := pki.ParseTrust([]byte(id.CA))
	if err != nil {
		return nil, err
	}
	if c.pair, err = pki.NewKeyPair([]byte(id.Certificate), []byte(id.Key)); err != nil {
		return nil, err
	}
	if c.conf, err = pki.ClientTLS(pki.ClientConfig{Trust: trust, Certificate: c.pair.Current}); err != nil {
		return nil, err
	}
	c.connectAnew()
	c.gates.recall(cfg.DataDir, id)
	return c, nil
}

// connectAnew lets new exchanges use new connections. Those that are open go on
// and are closed once they are idle.
func (c *Client) connectAnew() {
	old := c.http.Swap(&http.Client{Transport: c.transport(c.conf.Clone()), CheckRedirect: noRedirect})
	if old != nil {
		old.CloseIdleConnections()
	}
}

func (c *Client) identity() identity {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.id
}

func (c *Client) setIdentity(id identity) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.id = id
}

// Node is who this machine is.
func (c *Client) Node() inventory.NodeID { return c.node }

// Control are the addresses that are known now.
func (c *Client) Control() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.control)
}

// Beat is Control's.
func (c *Client) Beat(ctx context.Context, b protocol.Beat) (protocol.BeatAnswer, error) {
	var out protocol.BeatAnswer
	err := c.call(ctx, protocol.PathBeat, b, &out)
	if err == nil && out.Leader != "" {
		c.follow(out.Leader)
	}
	return out, err
}

// Sync is Control's.
func (c *Client) Sync(ctx context.Context, s protocol.Sync) (protocol.Desired, error) {
	var out protocol.Desired
	return out, c.call(ctx, protocol.PathSync, s, &out)
}

// Renew is Control's.
func (c *Client) Renew(ctx context.Context, r protocol.Renew) (protocol.Certificate, error) {
	var out protocol.Certificate
	return out, c.call(ctx, protocol.PathRenew, r, &out)
}

// Answer is Control's. A stream is sent once: what was read of it is gone. One that is
// an io.Closer is closed when nobody takes more of it, which must end a read of it.
func (c *Client) Answer(ctx context.Context, a protocol.Answer, stream io.Reader) error {
	path := strings.Replace(protocol.PathAnswers, "{id}", url.PathEscape(a.ID), 1)
	if stream == nil {
		return c.call(ctx, path, a, nil)
	}
	body, ok := stream.(io.ReadCloser)
	if !ok {
		body = io.NopCloser(stream)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address()+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	req.Header.Set(protocol.HeaderStream, "1")
	return c.do(req, nil)
}

// call sends a body to the control plane. One that does not answer is left for
// the next at the next call; one that names the leader is left for it at once.
func (c *Client) call(ctx context.Context, path string, in, out any) error {
	data, err := json.Marshal(in)
	if err != nil {
		return err
	}
	if len(data) > protocol.MaxFrame {
		return fmt.Errorf("uplink: a message of %d bytes is too large to send", len(data))
	}
	for hop := 0; ; hop++ {
		addr := c.address()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, addr+path, http.NoBody)
		if err != nil {
			return err
		}
		inPieces(req, data)
		req.Header.Set("Content-Type", "application/json")
		err = c.do(req, out)
		var refusal *protocol.Error
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case !errors.As(err, &refusal):
			c.next(addr)
			return err
		case refusal.Code != protocol.CodeNotLeader || hop > 0:
			return err
		case refusal.Leader == "":
			c.next(addr)
			return err
		}
		c.follow(refusal.Leader)
	}
}

func (c *Client) do(req *http.Request, out any) error {
	resp, err := c.http.Load().Do(req)
	if err != nil {
		return plain(err)
	}
	defer resp.Body.Close()
	return decodeAnswer(resp, out)
}

func (c *Client) address() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.control[c.current]
}

// next goes on from an address that does not answer, unless that was done
// already for it.
func (c *Client) next(from string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.control[c.current] == from {
		c.current = (c.current + 1) % len(c.control)
	}
}

// maxControl bounds how many addresses a control plane may teach us.
const maxControl = 16

// follow goes to the leader's address. A wrong one costs a failed call: whoever
// answers there must prove to be of this cluster.
func (c *Client) follow(leader string) {
	u, err := controlURL(leader)
	if err != nil {
		c.cfg.Logger.Warn("the leader's address is not usable", "err", err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.control, u); i >= 0 {
		c.current = i
	} else if len(c.control) < maxControl {
		c.control = append(c.control, u)
		c.current = len(c.control) - 1
	}
}
