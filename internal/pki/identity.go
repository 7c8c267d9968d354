package pki

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"strings"
)

// Kind says what a certificate speaks for.
type Kind string

// The kinds of peers. Control and gate serve; node and router call.
const (
	KindControl Kind = "control"
	KindNode    Kind = "node"
	KindRouter  Kind = "router"
	KindGate    Kind = "gate"
)

// Valid says whether k is one of the kinds.
func (k Kind) Valid() bool {
	switch k {
	case KindControl, KindNode, KindRouter, KindGate:
		return true
	}
	return false
}

// usage is the one extended key usage of a kind. A caller's certificate can
// never serve and a server's can never call, so that neither stands in for the
// other after a theft.
func (k Kind) usage() x509.ExtKeyUsage {
	if k == KindControl || k == KindGate {
		return x509.ExtKeyUsageServerAuth
	}
	return x509.ExtKeyUsageClientAuth
}

// Peer is who a certificate speaks for.
type Peer struct {
	Cluster string
	Kind    Kind
	// ID is the node's or router's name; for a gate, its node's. Empty for control.
	ID string
}

// URI gives the name as it stands in the certificate.
func (p Peer) URI() string {
	s := "spiffe://" + p.Cluster + "/" + string(p.Kind)
	if p.ID != "" {
		s += "/" + p.ID
	}
	return s
}

// String gives the URI.
func (p Peer) String() string { return p.URI() }

func (p Peer) check() error {
	if !validCluster(p.Cluster) {
		return fmt.Errorf("%w: cluster %q must be 1 to 100 of a-z, 0-9, '.', '_' and '-', begin with a letter or digit and have no empty part", ErrName, cut(p.Cluster))
	}
	if !p.Kind.Valid() {
		return fmt.Errorf("%w: %q is no kind of peer", ErrName, cut(string(p.Kind)))
	}
	if p.Kind == KindControl {
		if p.ID != "" {
			return fmt.Errorf("%w: control has no id", ErrName)
		}
		return nil
	}
	if !validID(p.ID) {
		return fmt.Errorf("%w: %s %q must be 1 to 253 of a-z, A-Z, 0-9, '.', '_' and '-', and begin with a letter or digit", ErrName, p.Kind, cut(p.ID))
	}
	return nil
}

// Identity reads who a certificate speaks for. It wants exactly one URI, in
// exactly the form that URI writes: a second name, a query, a port or an escape
// make it nobody's. It does not verify anything else; VerifyPeer does.
func Identity(cert *x509.Certificate) (Peer, error) {
	if cert == nil {
		return Peer{}, fmt.Errorf("%w: no certificate was shown", ErrUntrusted)
	}
	if len(cert.URIs) != 1 {
		return Peer{}, fmt.Errorf("%w: the certificate has %d URI names where one is wanted", ErrUntrusted, len(cert.URIs))
	}
	u := cert.URIs[0]
	kind, id, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	p := Peer{Cluster: u.Host, Kind: Kind(kind), ID: id}
	if err := p.check(); err != nil {
		return Peer{}, fmt.Errorf("%w: the name in the certificate: %w", ErrUntrusted, err)
	}
	if u.String() != p.URI() {
		return Peer{}, fmt.Errorf("%w: %q is not a name of ours", ErrUntrusted, cut(u.String()))
	}
	return p, nil
}

// clusterOf reads the cluster's name from its authority's certificate.
func clusterOf(ca *x509.Certificate) (string, error) {
	if len(ca.URIs) != 1 || !validCluster(ca.URIs[0].Host) || ca.URIs[0].String() != clusterURI(ca.URIs[0].Host).String() {
		return "", fmt.Errorf("%w: the certificate names no cluster, so it is no authority of ours", ErrUntrusted)
	}
	return ca.URIs[0].Host, nil
}

func clusterURI(cluster string) *url.URL {
	return &url.URL{Scheme: "spiffe", Host: cluster}
}

// validCluster wants what is a host name within a URI, or else the certificate
// could not be read again.
func validCluster(s string) bool {
	return len(s) <= 100 && validID(s) && s == strings.ToLower(s) &&
		!strings.Contains(s, "..") && !strings.HasSuffix(s, ".")
}

func validID(s string) bool {
	if s == "" || len(s) > 253 || !alnum(s[0]) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !alnum(c) && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

func alnum(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// cut keeps a stranger's text from filling a message.
func cut(s string) string {
	if len(s) > 80 {
		return s[:80]
	}
	return s
}
