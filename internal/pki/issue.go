package pki

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"time"
)

// Lives of certificates. A node's is short, since a running control plane renews
// it; a router's and a gate's outlast an outage of the control plane, so that
// traffic goes on.
const (
	NodeLife   = 24 * time.Hour
	RouterLife = 30 * 24 * time.Hour
	GateLife   = 30 * 24 * time.Hour
	ServerLife = 90 * 24 * time.Hour

	// issueLead is how long before its issue a peer's certificate begins, for
	// clocks that lag. IssuedAt takes it off again.
	issueLead = 5 * time.Minute
)

// CertInfo is what a store keeps of a certificate.
type CertInfo struct {
	Peer Peer
	// Serial is the serial number in lower-case hexadecimal.
	Serial string
	// IssuedAt is in whole seconds. It is what a revocation is compared with.
	IssuedAt  time.Time
	NotBefore time.Time
	NotAfter  time.Time
}

// Info reads a certificate's particulars without verifying it.
func Info(cert *x509.Certificate) (CertInfo, error) {
	p, err := Identity(cert)
	if err != nil {
		return CertInfo{}, err
	}
	return CertInfo{
		Peer:      p,
		Serial:    cert.SerialNumber.Text(16),
		IssuedAt:  IssuedAt(cert),
		NotBefore: cert.NotBefore,
		NotAfter:  cert.NotAfter,
	}, nil
}

// SignNode gives a node its certificate. Nothing of the request counts but its
// key: names, usages and extensions in it are the node's wishes. A life of zero
// is NodeLife.
func (c *CA) SignNode(csrPEM []byte, node string, now time.Time, life time.Duration) ([]byte, CertInfo, error) {
	return c.sign(csrPEM, Peer{c.cluster, KindNode, node}, now, orDefault(life, NodeLife))
}

// SignRouter gives a router its certificate, as SignNode does. A life of zero is RouterLife.
func (c *CA) SignRouter(csrPEM []byte, router string, now time.Time, life time.Duration) ([]byte, CertInfo, error) {
	return c.sign(csrPEM, Peer{c.cluster, KindRouter, router}, now, orDefault(life, RouterLife))
}

// SignGate gives the gate of a node the certificate it serves routers with. A
// life of zero is GateLife.
func (c *CA) SignGate(csrPEM []byte, node string, now time.Time, life time.Duration) ([]byte, CertInfo, error) {
	return c.sign(csrPEM, Peer{c.cluster, KindGate, node}, now, orDefault(life, GateLife))
}

// IssueServer makes the certificate and key of a control plane's listener for
// agents. The certificate comes with the authority's behind it, which joining
// machines look for; serve both. Hosts are names or addresses, for browsers and
// tools only, and may be empty: our machines go by the URI. A life of zero is
// ServerLife.
func (c *CA) IssueServer(hosts []string, now time.Time, life time.Duration) (certPEM, keyPEM []byte, err error) {
	key, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	if keyPEM, err = encodeKey(key); err != nil {
		return nil, nil, err
	}
	t, err := c.template(Peer{c.cluster, KindControl, ""}, now, orDefault(life, ServerLife))
	if err != nil {
		return nil, nil, err
	}
	t.NotBefore = now.Add(-backdate)
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
			continue
		}
		if !validID(h) {
			return nil, nil, fmt.Errorf("%w: %q is neither a host name nor an address", ErrName, cut(h))
		}
		t.DNSNames = append(t.DNSNames, h)
	}
	der, err := c.create(t, key.Public())
	if err != nil {
		return nil, nil, err
	}
	return append(encode(typeCert, der), c.CertPEM()...), keyPEM, nil
}

func (c *CA) sign(csrPEM []byte, p Peer, now time.Time, life time.Duration) ([]byte, CertInfo, error) {
	pub, err := requestKey(csrPEM)
	if err != nil {
		return nil, CertInfo{}, err
	}
	t, err := c.template(p, now, life)
	if err != nil {
		return nil, CertInfo{}, err
	}
	der, err := c.create(t, pub)
	if err != nil {
		return nil, CertInfo{}, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, CertInfo{}, fmt.Errorf("read back a certificate for %s: %w", p, err)
	}
	info, err := Info(cert)
	return encode(typeCert, der), info, err
}

func (c *CA) template(p Peer, now time.Time, life time.Duration) (*x509.Certificate, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if life < time.Second {
		return nil, fmt.Errorf("pki: a life of %s is too short for a certificate", life)
	}
	if now.Before(c.cert.NotBefore) || !now.Before(c.cert.NotAfter) {
		return nil, fmt.Errorf("%w: the cluster's authority is good from %s to %s; check the clock of the control plane or make a new authority",
			ErrExpired, c.cert.NotBefore.Format(time.RFC3339), c.cert.NotAfter.Format(time.RFC3339))
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	end := now.Add(life)
	if end.After(c.cert.NotAfter) {
		end = c.cert.NotAfter
	}
	u, err := url.Parse(p.URI())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrName, err)
	}
	return &x509.Certificate{
		SerialNumber:          serial,
		URIs:                  []*url.URL{u},
		NotBefore:             now.Add(-issueLead),
		NotAfter:              end,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{p.Kind.usage()},
		BasicConstraintsValid: true,
	}, nil
}

func (c *CA) create(t *x509.Certificate, pub crypto.PublicKey) ([]byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, t, c.cert, pub, c.key)
	if err != nil {
		return nil, fmt.Errorf("sign a certificate: %w", err)
	}
	return der, nil
}

func orDefault(life, otherwise time.Duration) time.Duration {
	if life == 0 {
		return otherwise
	}
	return life
}
