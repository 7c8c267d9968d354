package hub

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"sync"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/internal/pki"
)

// Server makes the server of the agents' listener: Handler over TLS. Serve it
// with ServeTLS and empty file names. Hosts are for people's tools; agents know
// the control plane by its name in the certificate.
func (h *Hub) Server(hosts []string) (*http.Server, error) {
	conf, err := h.TLS(hosts)
	if err != nil {
		return nil, err
	}
	return &http.Server{
		Handler: h.Handler(), TLSConfig: conf,
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
		// A machine that vanished is noticed, and its poll ended.
		// Both ends send headers whole each time: there are few, and two tables for each
		// of thousands of connections are much memory. Who sends decides: a table that
		// the reader makes smaller breaks what was sent before he said so.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second, MaxEncoderHeaderTableSize: protocol.HeaderTable},
	}, nil
}

// TLS makes the TLS side of the agents' listener. Its certificate is issued
// here and renewed by itself.
func (h *Hub) TLS(hosts []string) (*tls.Config, error) {
	c := &serverCert{ca: h.cfg.CA, hosts: hosts}
	if _, err := c.current(); err != nil {
		return nil, fmt.Errorf("hub: no certificate for the agents' listener: %w", err)
	}
	return pki.ServerTLS(pki.ServerConfig{
		// Revocation is looked at with each request and not in the handshake, where
		// the agent would learn no more than that its certificate is bad.
		Trust: h.trust, Certificate: c.current, Kinds: []pki.Kind{pki.KindNode}, Grace: pki.RenewGrace,
	})
}

// serverCert is the listener's certificate, made anew at two thirds of its life
// by the first handshake that finds it old.
type serverCert struct {
	ca    *pki.CA
	hosts []string

	mu   sync.Mutex
	pair pki.KeyPair
	due  time.Time
}

func (c *serverCert) current() (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if now.Before(c.due) {
		return c.pair.Current()
	}
	cert, key, err := c.ca.IssueServer(c.hosts, now, 0)
	if err == nil {
		err = c.pair.Set(cert, key)
	}
	if err != nil {
		if old, oldErr := c.pair.Current(); oldErr == nil {
			return old, nil // better than nothing, and good for a month
		}
		return nil, err
	}
	c.due = now.Add(pki.ServerLife * 2 / 3)
	return c.pair.Current()
}
