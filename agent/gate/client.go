package gate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
)

// Client asks and tells the gate of a folder. It may be used by many goroutines,
// and keeps no connection.
type Client struct {
	// Dir is the gate's folder.
	Dir string
}

// State asks the gate how it is. It blocks until the gate answers or ctx ends.
func (c Client) State(ctx context.Context) (State, error) {
	return c.do(ctx, http.MethodGet, pathState, nil)
}

// Drain tells the gate to take no new work, or to take it again, and returns how
// it is then. A gate that drains and has nothing in flight gets nothing any more.
func (c Client) Drain(ctx context.Context, draining bool) (State, error) {
	b, err := json.Marshal(drain{Draining: draining})
	if err != nil {
		return State{}, err
	}
	return c.do(ctx, http.MethodPut, pathDrain, bytes.NewReader(b))
}

func (c Client) do(ctx context.Context, method, path string, body io.Reader) (State, error) {
	t := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		dir, release, err := short(c.Dir)
		if err != nil {
			return nil, err
		}
		defer release()
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, SocketFile))
	}}
	req, err := http.NewRequestWithContext(ctx, method, "http://gate"+path, body)
	if err != nil {
		return State{}, err
	}
	res, err := (&http.Client{Transport: t}).Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		return State{}, fmt.Errorf("gate: it does not answer: %w", err)
	}
	defer res.Body.Close()
	var s State
	if res.StatusCode != http.StatusOK {
		return s, fmt.Errorf("gate: it answers %d", res.StatusCode)
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, 64<<10)).Decode(&s); err != nil {
		return s, fmt.Errorf("gate: its answer cannot be read: %w", err)
	}
	return s, nil
}
