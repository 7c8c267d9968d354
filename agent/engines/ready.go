package engines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"llmgw.io/llmgw/agent/protocol"
)

// otherKey is a key that no engine of ours was given.
const otherKey = "not-this-engines-key"

// ready asks whether the engine at e is ours, serves its model and generates.
func (c *client) ready(ctx context.Context, e protocol.Endpoint) error {
	if err := c.ours(ctx, e); err != nil {
		return err
	}
	return c.generates(ctx, e)
}

// ours asks whether the engine at e is up, wants our key and serves its model.
// The order matters: our key is shown only to a listener that refused another.
// Engines that answer any model's name are told apart by what they list.
func (c *client) ours(ctx context.Context, e protocol.Endpoint) error {
	if e.Key == "" || e.Model == "" {
		return errors.New("engines: an engine without a key or a name cannot be told from another program")
	}
	for _, step := range [...]func(context.Context, protocol.Endpoint) error{c.healthy, c.refusesOthers, c.lists} {
		if err := step(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

func (c *client) healthy(ctx context.Context, e protocol.Endpoint) error {
	a, err := c.ask(ctx, e.Address, "/health", "", nil)
	switch {
	case err != nil:
		return err
	case a.status == http.StatusOK:
		return nil
	case a.status >= 500:
		return notYet("/health", a)
	}
	return foreign("it answers /health with %d, which no engine does", a.status)
}

func (c *client) refusesOthers(ctx context.Context, e protocol.Endpoint) error {
	a, err := c.ask(ctx, e.Address, "/v1/models", otherKey, nil)
	switch {
	case err != nil:
		return err
	case a.status == http.StatusUnauthorized, a.status == http.StatusForbidden:
		return nil
	case a.status >= 500:
		return notYet("/v1/models", a)
	case a.status == http.StatusOK:
		return foreign("it takes a key that is not the engine's")
	}
	return foreign("it answers /v1/models with %d, and an engine of ours would have refused the key", a.status)
}

func (c *client) lists(ctx context.Context, e protocol.Endpoint) error {
	a, err := c.ask(ctx, e.Address, "/v1/models", e.Key, nil)
	switch {
	case err != nil:
		return err
	case a.status == http.StatusUnauthorized, a.status == http.StatusForbidden:
		return foreign("it refuses the engine's key")
	case a.status >= 500:
		return notYet("/v1/models", a)
	case a.status != http.StatusOK:
		return foreign("it answers /v1/models with %d", a.status)
	}
	list, err := modelsOf(a.body)
	if err != nil || len(list) == 0 {
		return foreign("what it lists under /v1/models are no models")
	}
	if slices.Contains(list, e.Model) {
		return nil
	}
	return foreign("it serves %s instead of %s", clip(list[0]), e.Model)
}

// probe is one way to make an engine work.
type probe struct {
	path string
	body map[string]any
	// worked looks at an answer of 200.
	worked func([]byte) bool
}

// probes are tried in order: models that only embed or rank refuse what comes
// before. A completion needs no chat template, which a base model may lack.
func probes(model string) []probe {
	return []probe{
		{"/v1/completions", map[string]any{"model": model, "prompt": "x", "max_tokens": 1}, func(b []byte) bool {
			var r struct {
				Choices []json.RawMessage `json:"choices"`
			}
			return json.Unmarshal(b, &r) == nil && len(r.Choices) > 0
		}},
		{"/v1/embeddings", map[string]any{"model": model, "input": "x"}, func(b []byte) bool {
			var r struct {
				Data []json.RawMessage `json:"data"`
			}
			return json.Unmarshal(b, &r) == nil && len(r.Data) > 0
		}},
		{"/v1/rerank", map[string]any{"model": model, "query": "x", "documents": []string{"x"}}, func(b []byte) bool {
			var r struct {
				Results []json.RawMessage `json:"results"`
			}
			return json.Unmarshal(b, &r) == nil && len(r.Results) > 0
		}},
	}
}

func (c *client) generates(ctx context.Context, e protocol.Endpoint) error {
	var first error
	for _, p := range probes(e.Model) {
		a, err := c.ask(ctx, e.Address, p.path, e.Key, p.body)
		switch {
		case err != nil:
			return err
		case a.status == http.StatusOK && p.worked(a.body):
			return nil
		case first == nil:
			first = notYet(p.path, a)
		}
		if !unsupported(a.status) {
			return notYet(p.path, a)
		}
	}
	return first
}

// unsupported reports whether an answer means that the model cannot do this kind
// of work, rather than that it cannot do it now.
func unsupported(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return true
	}
	return false
}

func notYet(path string, a answer) error {
	return fmt.Errorf("engines: the engine answers %s with %s", path, a.fault())
}
