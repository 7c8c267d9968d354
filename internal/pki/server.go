package pki

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ServerConfig is how a machine of the cluster serves its callers.
type ServerConfig struct {
	// Trust is whose callers are let in. Required.
	Trust *Trust
	// Certificate gives what to show, asked for each connection; usually
	// KeyPair.Current. Required.
	Certificate func() (*tls.Certificate, error)
	// Kinds are the kinds of callers let in. Empty: nodes and routers.
	Kinds []Kind
	// Grace lets in certificates that ended up to so long ago; the handlers then
	// refuse them on all routes but the one that renews. Zero: none.
	Grace time.Duration
	// RequireClient refuses callers that show no certificate. False: they come
	// in, for the route that joins, and each other handler must ask VerifyPeer.
	RequireClient bool
	// Check is asked about each caller that is otherwise good, to refuse what is
	// revoked. It runs within the handshake, from many goroutines. Nil: no check.
	Check func(CertInfo) error
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
}

// ServerTLS makes the TLS side of a server: TLS 1.3 only, HTTP/2 or HTTP/1.1,
// callers verified against the cluster's authorities alone. Sessions are never
// resumed, so that each connection proves its key and meets Check.
func ServerTLS(cfg ServerConfig) (*tls.Config, error) {
	var errs []error
	if cfg.Trust == nil {
		errs = append(errs, errors.New("pki: ServerConfig.Trust is missing"))
	}
	if cfg.Certificate == nil {
		errs = append(errs, errors.New("pki: ServerConfig.Certificate is missing"))
	}
	if cfg.Grace < 0 {
		errs = append(errs, errors.New("pki: ServerConfig.Grace is negative"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	cfg.Kinds = slices.Clone(cfg.Kinds)
	if len(cfg.Kinds) == 0 {
		cfg.Kinds = []Kind{KindNode, KindRouter}
	}
	cfg.Now = orNow(cfg.Now)
	auth := tls.RequestClientCert
	if cfg.RequireClient {
		auth = tls.RequireAnyClientCert
	}
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		NextProtos:             []string{"h2", "http/1.1"},
		ClientAuth:             auth,
		SessionTicketsDisabled: true,
		Time:                   cfg.Now,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return cfg.Certificate()
		},
		// Not VerifyPeerCertificate, which is left out when a session is resumed.
		VerifyConnection: func(cs tls.ConnectionState) error {
			return cfg.admit(cs.PeerCertificates)
		},
	}, nil
}

func (cfg *ServerConfig) admit(chain []*x509.Certificate) error {
	if len(chain) == 0 && !cfg.RequireClient {
		return nil
	}
	p, err := cfg.Trust.VerifyPeer(chain, cfg.Now(), cfg.Grace)
	if err != nil {
		return err
	}
	if !slices.Contains(cfg.Kinds, p.Kind) {
		return fmt.Errorf("%w: %s may not call here", ErrUntrusted, p)
	}
	if cfg.Check == nil {
		return nil
	}
	info, err := Info(chain[0])
	if err != nil {
		return err
	}
	return cfg.Check(info)
}

func orNow(now func() time.Time) func() time.Time {
	if now == nil {
		return time.Now
	}
	return now
}
