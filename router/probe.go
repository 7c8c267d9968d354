package router

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
)

// probe asks an endpoint what it serves. One that lists models must list ours,
// else a request would be answered by another. One that has no listing must say
// that it is well.
func (s *statics) probe(ctx context.Context, e *endpointState) error {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	status, body, err := s.get(ctx, e, "/v1/models")
	if err != nil {
		return err
	}
	switch status {
	case http.StatusOK:
		return checkListing(body, string(e.Model))
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		if status, _, err = s.get(ctx, e, "/health"); err != nil {
			return err
		}
	}
	switch status {
	case http.StatusOK:
		return nil
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("the endpoint refuses the key (%d); set the endpoint's key anew", status)
	}
	return fmt.Errorf("the endpoint answers %d", status)
}

func (s *statics) get(ctx context.Context, e *endpointState, path string) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, baseURL(e.URL)+path, http.NoBody)
	if err != nil {
		return 0, nil, fmt.Errorf("the endpoint's address is no URL: %w", err)
	}
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", "llmgw")
	if e.key != "" {
		req.Header.Set("Authorization", "Bearer "+e.key)
	}
	res, err := s.up.Do(e.ID, req)
	if err != nil {
		return 0, nil, fmt.Errorf("the endpoint does not answer: %w", err)
	}
	defer res.Body.Close()
	body, err = io.ReadAll(io.LimitReader(res.Body, 4<<20))
	if err != nil {
		return 0, nil, fmt.Errorf("the endpoint's answer broke off: %w", err)
	}
	return res.StatusCode, body, nil
}

func checkListing(body []byte, name string) error {
	var list struct {
		Data []struct {
			ID      string   `json:"id"`
			Aliases []string `json:"aliases"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return fmt.Errorf("the endpoint's list of models cannot be read: %w", err)
	}
	for _, m := range list.Data {
		if m.ID == name || slices.Contains(m.Aliases, name) {
			return nil
		}
	}
	if len(list.Data) == 0 {
		return nil
	}
	return fmt.Errorf("the endpoint does not serve %q but %q; name the model as the endpoint does", name, list.Data[0].ID)
}
