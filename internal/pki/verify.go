package pki

import (
	"crypto/x509"
	"fmt"
	"time"
)

// RenewGrace is how long after its end a node's certificate still opens the
// route that renews it, so that nodes come back by themselves after the control
// plane was away for days. It opens nothing else.
const RenewGrace = 30 * 24 * time.Hour

// Trust is a cluster's authorities, without their keys: usually one, two while
// an authority is being replaced. It is all that is ever trusted; the machine's
// own list of authorities plays no part.
type Trust struct {
	cluster string
	roots   []*x509.Certificate
	pool    *x509.CertPool
}

// ParseTrust reads what PEM wrote: one authority, or several of one cluster.
func ParseTrust(caPEM []byte) (*Trust, error) {
	certs, err := ParseCertificates(caPEM)
	if err != nil {
		return nil, fmt.Errorf("the cluster's authorities: %w", err)
	}
	return newTrust(certs...)
}

func newTrust(certs ...*x509.Certificate) (*Trust, error) {
	t := &Trust{pool: x509.NewCertPool(), roots: certs}
	for i, cert := range certs {
		cluster, err := checkRoot(cert)
		if err != nil {
			return nil, err
		}
		if i > 0 && cluster != t.cluster {
			return nil, fmt.Errorf("%w: authorities of two clusters, %s and %s, in one bundle", ErrUntrusted, t.cluster, cluster)
		}
		t.cluster = cluster
		t.pool.AddCert(cert)
	}
	return t, nil
}

// Cluster gives the name of the cluster.
func (t *Trust) Cluster() string { return t.cluster }

// PEM gives the authorities' certificates for keeping.
func (t *Trust) PEM() []byte {
	var out []byte
	for _, c := range t.roots {
		out = append(out, encode(typeCert, c.Raw)...)
	}
	return out
}

// VerifyPeer says who a caller is, by the chain it showed, the leaf first. A
// certificate that ended up to grace ago is taken as well; a grace of zero takes
// none. Only nodes and routers call; revocation is the caller's to check, with
// IssuedAt and Revoked.
func (t *Trust) VerifyPeer(chain []*x509.Certificate, now time.Time, grace time.Duration) (Peer, error) {
	p, err := t.verify(chain, x509.ExtKeyUsageClientAuth, now, grace)
	if err != nil {
		return Peer{}, err
	}
	if p.Kind != KindNode && p.Kind != KindRouter {
		return Peer{}, fmt.Errorf("%w: %s does not call anybody", ErrUntrusted, p)
	}
	return p, nil
}

// VerifyServer says whether the chain a server showed is that of want. There is
// no grace: a server that cannot renew its certificate has lost its authority.
func (t *Trust) VerifyServer(chain []*x509.Certificate, want Peer, now time.Time) error {
	p, err := t.verify(chain, x509.ExtKeyUsageServerAuth, now, 0)
	if err != nil {
		return err
	}
	if p != want {
		return fmt.Errorf("%w: the server is %s where %s is wanted; check the address", ErrUntrusted, p, want)
	}
	return nil
}

func (t *Trust) verify(chain []*x509.Certificate, use x509.ExtKeyUsage, now time.Time, grace time.Duration) (Peer, error) {
	if len(chain) == 0 {
		return Peer{}, fmt.Errorf("%w: no certificate was shown", ErrUntrusted)
	}
	leaf := chain[0]
	at := now
	if late := now.Sub(leaf.NotAfter); late > 0 && late <= grace {
		at = leaf.NotAfter
	}
	if at.Before(leaf.NotBefore) {
		return Peer{}, fmt.Errorf("%w: it begins at %s and it is %s here; check both clocks",
			ErrNotYetValid, leaf.NotBefore.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	opts := x509.VerifyOptions{
		Roots:         t.pool,
		Intermediates: x509.NewCertPool(),
		CurrentTime:   at,
		KeyUsages:     []x509.ExtKeyUsage{use},
	}
	// The chain is verified before the end of the certificate is spoken of:
	// otherwise a stranger's old certificate would be told to renew.
	ended := at.After(leaf.NotAfter)
	if ended {
		opts.CurrentTime = leaf.NotAfter
	}
	chains, err := leaf.Verify(opts)
	if err != nil {
		return Peer{}, fmt.Errorf("%w: %w", ErrUntrusted, err)
	}
	p, err := Identity(leaf)
	if err != nil {
		return Peer{}, err
	}
	if p.Cluster != t.cluster {
		return Peer{}, fmt.Errorf("%w: %s is of another cluster than %s", ErrUntrusted, p, t.cluster)
	}
	if ended {
		return Peer{}, fmt.Errorf("%w: %s ended at %s and it is %s here; renew it, or join again with a new token, and check both clocks",
			ErrExpired, p, leaf.NotAfter.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	return p, rootStillGood(chains, now)
}

// rootStillGood keeps the grace of a leaf from stretching the life of its authority.
func rootStillGood(chains [][]*x509.Certificate, now time.Time) error {
	for _, c := range chains {
		if !now.After(c[len(c)-1].NotAfter) {
			return nil
		}
	}
	return fmt.Errorf("%w: the cluster's authority has ended; join again with a token of the new one", ErrExpired)
}
