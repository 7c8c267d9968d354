package auth

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"

	"llmgw.io/llmgw/storage"
)

// Insecure lets everybody on this machine do everything, without a credential.
// It exists for a listener on loopback that a person asked for by name; a
// caller from elsewhere is refused even then.
type Insecure struct{}

// NewInsecure refuses any listener that is not on loopback.
func NewInsecure(listen string) (*Insecure, error) {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, fmt.Errorf("auth: %q is no address to listen on: %w", listen, err)
	}
	if host == "localhost" {
		return &Insecure{}, nil
	}
	if a, err := netip.ParseAddr(host); err == nil && a.Unmap().IsLoopback() {
		return &Insecure{}, nil
	}
	return nil, fmt.Errorf("auth: an admin listener without tokens must be on loopback, and %q is not; listen on 127.0.0.1, or use tokens", listen)
}

// Authenticate lets callers on loopback in, as owner.
func (*Insecure) Authenticate(r *http.Request) (Identity, error) {
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !ap.Addr().Unmap().IsLoopback() {
		return Identity{}, ErrMissing
	}
	return Identity{Principal: "insecure", Role: storage.RoleOwner}, nil
}
