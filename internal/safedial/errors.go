package safedial

import (
	"errors"
	"net/url"
)

// What is said of an address that could not be reached, whatever the reason.
const sealed = "safedial: the address cannot be reached or is not allowed; see the log, and the addresses allowed in the configuration"

// ErrRefused and ErrUnreachable have the same text on purpose: one who may choose
// an address and read the error must not learn which hosts and ports of an inner
// network exist. Code may tell them apart, for refused is not worth a retry; the
// whole cause is in the log alone.
var (
	// ErrRefused means that an address or a redirect is not allowed. Nothing was sent to it.
	ErrRefused = errors.New(sealed)
	// ErrUnreachable means that an allowed address did not answer as it should.
	ErrUnreachable = errors.New(sealed)

	// ErrURL means that a URL is not allowed as it is written. The error says
	// what is wrong with it, which tells of nothing but the URL.
	ErrURL = errors.New("safedial: URL not allowed")
	// ErrTooLarge means that an answer has more bytes than the limit.
	ErrTooLarge = errors.New("safedial: the answer is larger than allowed")
)

// Plain takes off what http.Client puts around an error: the whole URL, with
// whatever secret its query holds.
func Plain(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
