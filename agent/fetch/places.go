package fetch

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"llmgw.io/llmgw/agent/protocol"
)

// places are the addresses a file may be fetched from, in order: a mirror first,
// which is near.
func (f *Fetcher) places(file setFile) ([]string, error) {
	var out []string
	blob := ""
	if f.cfg.Mirror != "" && file.sha256 != "" {
		blob = strings.TrimSuffix(f.cfg.Mirror, "/") + "/blobs/sha256:" + file.sha256
		out = append(out, blob)
	}
	for _, from := range file.from {
		if !strings.HasPrefix(from, mirrorScheme) && !slices.Contains(out, from) {
			out = append(out, from)
		}
	}
	if len(out) == 0 {
		return nil, failed(protocol.CauseFetch, fmt.Sprintf("this agent knows no mirror for %s; set mirror in its configuration, or give a source that it can fetch from", clip(file.from[0])))
	}
	return out, nil
}

// do sends a request, with the hub's token where it is for the hub.
func (f *Fetcher) do(req *http.Request) (*http.Response, error) {
	if f.cfg.Hub.TokenFile != "" && sameHost(req.URL, f.cfg.Hub.Endpoint) {
		token, err := os.ReadFile(f.cfg.Hub.TokenFile)
		if err != nil {
			return nil, failed(protocol.CauseFetch, fmt.Sprintf("the hub's token cannot be read: %v; check hub.token_file in the agent's configuration", err))
		}
		if t := strings.TrimSpace(string(token)); t != "" {
			req.Header.Set("Authorization", "Bearer "+t)
		}
	}
	return f.http.Do(req)
}

// sameHost reports whether a request goes to a server, over https or to where it
// was told to go without.
func sameHost(u *url.URL, endpoint string) bool {
	e, err := url.Parse(endpoint)
	return err == nil && e.Host != "" && u.Host == e.Host && u.Scheme == e.Scheme
}

// keepToken keeps a hub's token from where the hub redirects to: most files lie
// at another server, under an address that needs none.
func keepToken(c *http.Client, hub Hub) *http.Client {
	if hub.TokenFile == "" {
		return c
	}
	own, follow := *c, c.CheckRedirect
	own.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if !sameHost(req.URL, hub.Endpoint) {
			req.Header.Del("Authorization")
		}
		if follow != nil {
			return follow(req, via)
		}
		const most = 10
		if len(via) >= most {
			return fmt.Errorf("stopped after %d redirects", most)
		}
		return nil
	}
	return &own
}
