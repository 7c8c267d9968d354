package llmgw

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/adminapi/adminclient"
	"llmgw.io/llmgw/agent/fetch"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// A definition whose weights are no model is refused with its field; one whose
// weights cannot be looked at is taken, with a warning; and nobody looks where that
// is turned off.
func TestWeightsAreLookedInto(t *testing.T) {
	t.Parallel()
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "m.gguf", time.Time{}, strings.NewReader("text that is no model by any means"))
	}))
	t.Cleanup(source.Close)
	near := fetch.Reach{PlainHTTP: true, Private: []string{strings.TrimPrefix(source.URL, "http://")}}
	m := tiny(0)
	m.Source = source.URL + "/m.gguf"
	for _, tt := range []struct {
		name    string
		inspect bool
		weights WeightsFile
		refused string
		warned  bool
	}{
		{"inside", true, WeightsFile{}, "", true},
		{"allowed", true, WeightsFile{Reach: near}, "source: the file m.gguf cannot be used: it does not begin as a GGUF file does", false},
		{"turned off", true, WeightsFile{Reach: near, Unseen: true}, "", false},
		{"not asked for", false, WeightsFile{Reach: near}, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := plane(t, func(c *Config) {
				c.InsecureAdmin, c.InspectWeights, c.Settings.Weights = true, tt.inspect, tt.weights
			})
			defer runs(t, c)()
			srv := httptest.NewServer(c.Admin())
			defer srv.Close()
			client, err := adminclient.New(adminclient.Config{BaseURL: srv.URL})
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.AddModel(t.Context(), m)
			var refused *adminclient.Error
			if tt.refused != "" {
				if !errors.As(err, &refused) || refused.Status != http.StatusBadRequest || !strings.Contains(err.Error(), tt.refused) {
					t.Fatalf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			list, err := client.Models(t.Context())
			if err != nil || len(list) != 1 {
				t.Fatalf("got %+v, %v", list, err)
			}
			if warned := strings.Contains(strings.Join(list[0].Warnings, " "), "could not look into the weights"); warned != tt.warned || (list[0].Weights != nil) != tt.warned {
				t.Errorf("got %+v", list[0])
			}
		})
	}
}

// What a definition wants ahead reaches the node that it names, and a change of it.
func TestPrefetchReachesTheNode(t *testing.T) {
	t.Parallel()
	c := plane(t)
	defer runs(t, c)()
	c.registry.Apply("n1", inventory.Report{Facts: &inventory.Facts{Hostname: "n1"}}, time.Now())
	m := tiny(0)
	m.Source, m.Prefetch = "https://example.org/m.gguf", &catalog.Prefetch{Nodes: []inventory.NodeID{"n1"}}
	if _, err := c.catalog.Add(t.Context(), m, tester); err != nil {
		t.Fatal(err)
	}
	have := protocol.Sync{Node: "n1"}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	told := func(n int) {
		t.Helper()
		for {
			d, err := c.hub.Sync(ctx, "n1", have)
			if err == nil && len(d.Fetch) == n {
				have.Epoch, have.Version = d.Epoch, d.Version
				return
			}
			if ctx.Err() != nil {
				t.Fatalf("never %d: %+v, %v", n, d.Fetch, err)
			}
			if err == nil {
				have.Epoch, have.Version = d.Epoch, d.Version
			}
		}
	}
	told(1)
	m.Prefetch = nil
	if _, err := c.catalog.Change(t.Context(), m.Name, catalog.Change{Replace: &m}, nil, tester); err != nil {
		t.Fatal(err)
	}
	told(0)
}

func TestWeightsSettingsAreChecked(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"weights: {hub: {endpoint: \"ftp://x\"}}":                                           "Hub.Endpoint",
		"weights: {hub: {endpoint: \"https://x\", token_file: \"token\"}}":                  "weights.hub.token_file",
		"weights: {reach: {private: [\"10.0.0.0/8\"]}}":                                     "names no port",
		"weights: {unseen: true, reach: {private: [\"10.0.0.0/8:80\"]}, mirror: https://m}": "",
	} {
		_, err := ParseFile([]byte(text))
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want %q", text, err, says)
		}
	}
}
