package protocol

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	// ScanTime is the longest that a scan may take before the agent ends it.
	ScanTime = 30 * time.Second
	// MaxScan bounds the map of a scan, unpacked, in bytes: some 30,000 nodes.
	MaxScan = 16 << 20
	// scanPlain is how long a map may be to travel as it is.
	scanPlain = 256 << 10
	// scanFrame leaves room in a frame for what is around a packed map, which
	// base64 makes longer by a third.
	scanFrame = (MaxFrame - 64<<10) / 4 * 3
)

// ErrScanTooLarge says that a map does not fit into an answer.
var ErrScanTooLarge = errors.New("protocol: the map of the fabric is too large for one answer")

// ScanArgs are the arguments of AskScan.
type ScanArgs struct {
	// HCA and Port name the port of the node from which the fabric is walked.
	HCA  string `json:"hca"`
	Port int    `json:"port"`
}

// ScanResult is the answer to AskScan. Read its map with Map.
type ScanResult struct {
	// Text is the map as ibnetdiscover prints it. Empty: it is in Packed, or there
	// is none, and Error says why.
	Text string `json:"text,omitempty"`
	// Packed is the text compressed by gzip, for a large fabric. Nil: it is not.
	Packed []byte `json:"packed,omitempty"`
	// TookMS is how long the walk took, in milliseconds.
	TookMS int64 `json:"took_ms"`
	// Error is why there is no map, or why it is not whole. Empty: it is whole.
	Error string `json:"error,omitempty"`
	// By is the port it was walked from, "hca/port".
	By string `json:"by,omitempty"`
}

// Put keeps a map in the result, packed where it is long. Its error matches
// ErrScanTooLarge.
func (r *ScanResult) Put(text []byte) error {
	r.Text, r.Packed = "", nil
	if len(text) <= scanPlain {
		r.Text = string(text)
		return nil
	}
	if len(text) > MaxScan {
		return fmt.Errorf("%w: it has %d bytes of at most %d", ErrScanTooLarge, len(text), MaxScan)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(text); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	if b.Len() > scanFrame {
		return fmt.Errorf("%w: it has %d bytes packed of at most %d", ErrScanTooLarge, b.Len(), scanFrame)
	}
	r.Packed = b.Bytes()
	return nil
}

// Map is the text of the map. What an agent packed is not trusted: more than
// MaxScan is an error that matches ErrScanTooLarge.
func (r *ScanResult) Map() (string, error) {
	if r.Packed == nil {
		return r.Text, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(r.Packed))
	if err != nil {
		return "", fmt.Errorf("protocol: the packed map cannot be read: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(z, MaxScan+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("protocol: the packed map cannot be read: %w", err)
	case len(text) > MaxScan:
		return "", fmt.Errorf("%w: it has more than %d bytes", ErrScanTooLarge, MaxScan)
	}
	return string(text), nil
}
