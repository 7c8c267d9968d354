package fabrictest

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
)

// kind is what a connection is for.
type kind byte

const (
	kindEcho kind = 'e'
	kindBulk kind = 'b'
)

const nonceSize = 16

// proof shows who knows the secret, for one connection and one direction.
func proof(secret, end string, k kind, theirs, ours []byte) []byte {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(end))
	m.Write([]byte{byte(k)})
	m.Write(theirs)
	m.Write(ours)
	return m.Sum(nil)
}

// admit asks a connection for its proof, and answers with our own. The secret
// itself is never sent.
func admit(c io.ReadWriter, secret string) (kind, error) {
	ours := nonce()
	if _, err := c.Write(ours); err != nil {
		return 0, err
	}
	in := make([]byte, 1+nonceSize+sha256.Size)
	if _, err := io.ReadFull(c, in); err != nil {
		return 0, err
	}
	k, theirs, said := kind(in[0]), in[1:1+nonceSize], in[1+nonceSize:]
	if k != kindEcho && k != kindBulk || !hmac.Equal(said, proof(secret, "dial", k, ours, theirs)) {
		return 0, ErrStranger
	}
	_, err := c.Write(proof(secret, "listen", k, ours, theirs))
	return k, err
}

// introduce is the other end of admit.
func introduce(c io.ReadWriter, secret string, k kind) error {
	theirs, ours := make([]byte, nonceSize), nonce()
	if _, err := io.ReadFull(c, theirs); err != nil {
		return fmt.Errorf("%w: %w", ErrStranger, err)
	}
	out := append([]byte{byte(k)}, ours...)
	if _, err := c.Write(append(out, proof(secret, "dial", k, theirs, ours)...)); err != nil {
		return err
	}
	said := make([]byte, sha256.Size)
	if _, err := io.ReadFull(c, said); err != nil {
		return fmt.Errorf("%w: %w", ErrStranger, err)
	}
	if !hmac.Equal(said, proof(secret, "listen", k, theirs, ours)) {
		return ErrStranger
	}
	return nil
}

func nonce() []byte {
	b := make([]byte, nonceSize)
	_, _ = rand.Read(b) // it never fails
	return b
}
