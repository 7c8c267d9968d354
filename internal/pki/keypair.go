package pki

import (
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"
)

// KeyPair holds the certificate that a machine shows, and may be changed while
// connections are open: those live on with the old one, new ones show the new.
// The zero value holds none.
type KeyPair struct {
	current atomic.Pointer[tls.Certificate]
}

// NewKeyPair makes a KeyPair that holds a certificate already.
func NewKeyPair(certPEM, keyPEM []byte) (*KeyPair, error) {
	k := &KeyPair{}
	return k, k.Set(certPEM, keyPEM)
}

// Set changes the certificate. After an error the old one stays.
func (k *KeyPair) Set(certPEM, keyPEM []byte) error {
	c, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return fmt.Errorf("%w: certificate and key: %w", ErrMalformed, err)
	}
	k.current.Store(&c)
	return nil
}

// Current gives the certificate; its Leaf is set. Do not change it.
func (k *KeyPair) Current() (*tls.Certificate, error) {
	c := k.current.Load()
	if c == nil {
		return nil, errors.New("pki: no certificate yet; join the cluster first")
	}
	return c, nil
}
