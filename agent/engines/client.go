package engines

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"llmgw.io/llmgw/agent/protocol"
)

const (
	// dialEngine is how long a connection to an engine may take.
	dialEngine = 2 * time.Second
	// idleEngine is below the 5 seconds after which engines close idle
	// connections, so that no request is sent into a closing one.
	idleEngine = 3 * time.Second
	// mostBody is how much of an answer is read.
	mostBody = 4 << 20
)

// errBody says that an answer is longer than any engine's.
var errBody = errors.New("engines: the answer is too long")

// client asks engines over HTTP.
type client struct {
	http *http.Client
}

// newClient makes one that takes no proxy and follows no redirect: an engine is
// where it was started, and nowhere else.
func newClient() *client {
	return &client{http: &http.Client{
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: dialEngine}).DialContext,
			IdleConnTimeout:     idleEngine,
			MaxIdleConnsPerHost: 2,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// answer is what an engine said.
type answer struct {
	status int
	body   []byte
}

// fault is the error in an answer, for people.
func (a answer) fault() string {
	var e struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(a.body, &e) == nil && e.Error.Message != "" {
		return fmt.Sprintf("%d, %s", a.status, clip(e.Error.Message))
	}
	return fmt.Sprint(a.status)
}

// spoken reports whether an error is the engine's own, rather than that of a path
// that it does not have.
func (a answer) spoken() bool {
	var e struct {
		Error json.RawMessage `json:"error"`
	}
	return json.Unmarshal(a.body, &e) == nil && len(e.Error) > 0
}

// ask sends one request: a GET, or a POST where there is a body. An empty key
// sends none.
func (c *client) ask(ctx context.Context, address, path, key string, body any) (answer, error) {
	method, send := http.MethodGet, io.Reader(nil)
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return answer{}, fmt.Errorf("engines: ask %s: %w", path, err)
		}
		method, send = http.MethodPost, bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+address+path, send)
	if err != nil {
		return answer{}, fmt.Errorf("engines: ask %s: %w", path, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return answer{}, unreached(path, err)
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusSwitchingProtocols {
		// Reading on would not end with the context.
		return answer{}, foreign("it changes the protocol, which nobody asked for")
	}
	b, err := io.ReadAll(io.LimitReader(res.Body, mostBody+1))
	if err != nil {
		return answer{}, unreached(path, err)
	}
	if len(b) > mostBody {
		return answer{}, fmt.Errorf("engines: ask %s: %w", path, errBody)
	}
	return answer{status: res.StatusCode, body: b}, nil
}

// noHTTP are the standard library's words for a listener that answers in another
// protocol, and for one that speaks before it was asked; it has no errors for them.
var noHTTP = [...]string{"malformed HTTP", "readLoopPeekFailLocked: %!w(<nil>)"}

// unreached tells a listener that speaks no HTTP, which is none of ours, from
// one that does not answer yet.
func unreached(path string, err error) error {
	for _, words := range noHTTP {
		if strings.Contains(err.Error(), words) {
			return foreign("it does not speak HTTP")
		}
	}
	return fmt.Errorf("engines: ask %s: %w", path, err)
}

// foreign is the error for a listener that is not the engine we started.
func foreign(format string, args ...any) error {
	return fmt.Errorf("%w: %s", protocol.ErrForeign, fmt.Sprintf(format, args...))
}
