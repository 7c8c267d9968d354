package uplink

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"llmgw.io/llmgw/agent/protocol"
)

// decodeAnswer reads an answer's body, or the refusal in it.
func decodeAnswer(resp *http.Response, out any) error {
	data, err := io.ReadAll(io.LimitReader(resp.Body, protocol.MaxFrame+1))
	if err != nil {
		return err
	}
	if len(data) > protocol.MaxFrame {
		return fmt.Errorf("uplink: the answer has more than %d bytes", protocol.MaxFrame)
	}
	if resp.StatusCode/100 == 2 {
		if out == nil || len(data) == 0 {
			return nil
		}
		if err := json.Unmarshal(data, out); err != nil {
			return fmt.Errorf("uplink: the answer cannot be read: %w", err)
		}
		return nil
	}
	refusal := &protocol.Error{}
	if err := json.Unmarshal(data, refusal); err != nil || refusal.Text == "" {
		return fmt.Errorf("uplink: the control plane answers %d; is this the address of its agents' listener?", resp.StatusCode)
	}
	return refusal
}

func transportWith(conf *tls.Config) http.RoundTripper {
	return &http.Transport{
		TLSClientConfig:     conf,
		ForceAttemptHTTP2:   true,
		TLSHandshakeTimeout: 10 * time.Second,
		IdleConnTimeout:     2 * time.Minute,
		MaxIdleConnsPerHost: 4,
		// A connection that died without a word is found before a poll would be.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second, MaxEncoderHeaderTableSize: protocol.HeaderTable},
	}
}

// pieceBytes is how much of a body is sent in one frame. A server keeps a buffer
// as large as the largest frame for as long as a connection lasts, and the control
// plane has a connection of every agent.
const pieceBytes = 2 << 10

// inPieces gives a request its body.
func inPieces(req *http.Request, data []byte) {
	req.ContentLength = int64(len(data))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(&pieces{data}), nil }
	req.Body = io.NopCloser(&pieces{data})
}

// pieces is what is left of a body. HTTP/2 makes a frame of what is read at once.
type pieces struct{ left []byte }

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), pieceBytes)], p.left)
	p.left = p.left[n:]
	return n, nil
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// plain takes off the method and the whole URL that http.Client puts around.
func plain(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
