package pki

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"time"
)

// ClientConfig is how a machine of the cluster calls another.
type ClientConfig struct {
	// Trust is whose servers are believed. Required.
	Trust *Trust
	// Certificate gives what to show, asked for each connection; usually
	// KeyPair.Current. Required. A connection that is open keeps what it showed:
	// close idle ones after a renewal.
	Certificate func() (*tls.Certificate, error)
	// Server is who must answer. Zero: the cluster's control plane.
	Server Peer
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
}

// ClientTLS makes the TLS side of a caller. The server is known by the name in
// its certificate, under the cluster's authorities alone; the address it is
// reached at does not matter.
func ClientTLS(cfg ClientConfig) (*tls.Config, error) {
	var errs []error
	if cfg.Trust == nil {
		errs = append(errs, errors.New("pki: ClientConfig.Trust is missing"))
	}
	if cfg.Certificate == nil {
		errs = append(errs, errors.New("pki: ClientConfig.Certificate is missing"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if cfg.Server == (Peer{}) {
		cfg.Server = Peer{Cluster: cfg.Trust.cluster, Kind: KindControl}
	}
	if err := cfg.Server.check(); err != nil {
		return nil, err
	}
	now := orNow(cfg.Now)
	c := callerTLS(now, func(chain []*x509.Certificate) error {
		return cfg.Trust.VerifyServer(chain, cfg.Server, now())
	})
	// The server's hints about acceptable authorities are ignored: there is one
	// certificate to show.
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return cfg.Certificate()
	}
	return c, nil
}

// JoinTLS makes the TLS side of a machine that holds nothing yet but a join
// token: it believes the control plane whose authority has the token's pin, and
// no other, from the first byte. PinnedTrust gives the authority afterwards. A
// nil now is time.Now.
func JoinTLS(pin string, now func() time.Time) (*tls.Config, error) {
	if !validPin(pin) {
		return nil, fmt.Errorf("%w: the authority's pin must be a SHA-256 in base64url; ask for a new token", ErrToken)
	}
	now = orNow(now)
	return callerTLS(now, func(chain []*x509.Certificate) error {
		_, err := PinnedTrust(chain, pin, now())
		return err
	}), nil
}

// callerTLS replaces the usual verification, which goes by host names, by verify.
// It has no session cache, so each connection is verified in full.
func callerTLS(now func() time.Time, verify func([]*x509.Certificate) error) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		NextProtos:         []string{"h2", "http/1.1"},
		Time:               now,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection verifies, by URI instead of host name.
		VerifyConnection: func(cs tls.ConnectionState) error {
			return verify(cs.PeerCertificates)
		},
	}
}

// PinnedTrust finds the authority with the given pin in the chain that a control
// plane showed, verifies the chain up to it and gives it for keeping. An agent
// calls it on the connection's state once it has joined.
func PinnedTrust(chain []*x509.Certificate, pin string, now time.Time) (*Trust, error) {
	if len(chain) == 0 {
		return nil, fmt.Errorf("%w: the server showed no certificate", ErrUntrusted)
	}
	for _, cert := range chain[1:] {
		if subtle.ConstantTimeCompare([]byte(pinOf(cert)), []byte(pin)) == 0 {
			continue
		}
		t, err := newTrust(cert)
		if err != nil {
			return nil, err
		}
		if err := t.VerifyServer(chain, Peer{Cluster: t.cluster, Kind: KindControl}, now); err != nil {
			return nil, err
		}
		return t, nil
	}
	return nil, fmt.Errorf("%w: the server does not show the authority that the join token names; "+
		"check the address, and that the token is of this cluster and no proxy ends TLS on the way", ErrUntrusted)
}

func validPin(pin string) bool {
	b, err := base64.RawURLEncoding.Strict().DecodeString(pin)
	return err == nil && len(b) == sha256.Size && len(pin) == base64.RawURLEncoding.EncodedLen(sha256.Size)
}
