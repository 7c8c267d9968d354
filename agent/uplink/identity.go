package uplink

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"llmgw.io/llmgw/internal/durable"
)

// identity is who this machine is in its cluster, in one file, so that a
// certificate and its key are never of two renewals.
type identity struct {
	Cluster     string   `json:"cluster"`
	Node        string   `json:"node"`
	Control     []string `json:"control"`
	Certificate string   `json:"certificate"`
	Key         string   `json:"key"`
	CA          string   `json:"ca"`
}

func identityPath(dataDir string) string { return filepath.Join(dataDir, "identity.json") }

func readIdentity(dataDir string) (identity, error) {
	var id identity
	found, err := durable.ReadJSON(identityPath(dataDir), &id)
	switch {
	case err != nil:
		return id, fmt.Errorf("uplink: the identity cannot be read: %w; join again with a new token", err)
	case !found:
		return id, fmt.Errorf("%w: %s holds no identity; make a token with `llmgw-control ctl tokens join create` and run `llmgw-agent join`", ErrNotJoined, dataDir)
	case id.Node == "" || id.Certificate == "" || id.Key == "" || id.CA == "":
		return id, fmt.Errorf("%w: %s is not whole; join again with a new token", ErrNotJoined, identityPath(dataDir))
	}
	return id, nil
}

func writeIdentity(dataDir string, id identity) error {
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return fmt.Errorf("uplink: the data folder cannot be made: %w", err)
	}
	if err := durable.WriteJSON(identityPath(dataDir), id); err != nil {
		return fmt.Errorf("uplink: the identity cannot be kept: %w", err)
	}
	return nil
}

// controlURL reads an address of the control plane. Only https will do, and
// only the address: paths are the wire's own.
func controlURL(s string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Path != "" && u.Path != "/" {
		return "", fmt.Errorf("uplink: %.200q is no address of a control plane; write https://host:7443", s)
	}
	return "https://" + u.Host, nil
}

// orElse is the list, or the other one where it is empty.
func orElse(list, otherwise []string) []string {
	if len(list) > 0 {
		return list
	}
	return otherwise
}
