package uplink

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/internal/pki"
)

// JoinConfig is how a machine joins a cluster.
type JoinConfig struct {
	// Control are addresses of the control plane ("https://host:7443"), tried in
	// order. At least one is required.
	Control []string
	// Token is the one-time join token. Required. It names the authority to
	// believe, so the first connection is verified already.
	Token string
	// Node is the id to join as. Empty: the host's name.
	Node string
	// DataDir is where the identity is kept. Required.
	DataDir string
	// Again replaces an identity that is there. False: that is refused with an
	// error that matches ErrJoined.
	Again bool
}

// Join makes a key, has it certified with a join token and keeps both. The key
// does not leave the machine. Nothing is written unless all went well.
func Join(ctx context.Context, cfg JoinConfig) error {
	token, control, err := cfg.check()
	if err != nil {
		return err
	}
	if old, err := readIdentity(cfg.DataDir); err == nil && !cfg.Again {
		return fmt.Errorf("%w: %s is node %s of cluster %s; say that it shall join again, or give another data folder", ErrJoined, cfg.DataDir, old.Node, old.Cluster)
	}
	keyPEM, csrPEM, err := pki.NewRequest(cfg.Node)
	if err != nil {
		return fmt.Errorf("uplink: no key could be made: %w", err)
	}
	body := protocol.Join{Token: token.Reveal(), Node: cfg.Node, CSR: string(csrPEM)}
	var last error
	for _, addr := range control {
		cert, ca, err := join(ctx, addr, token, body)
		var refused *protocol.Error
		switch {
		case err == nil:
			if err := forgetGates(cfg.DataDir); err != nil {
				return err
			}
			return writeIdentity(cfg.DataDir, identity{
				Cluster: cert.Cluster, Node: cert.Node, Control: orElse(cert.Control, control),
				Certificate: cert.Certificate, Key: string(keyPEM), CA: ca,
			})
		case errors.As(err, &refused) && refused.Code != protocol.CodeNotLeader:
			return fmt.Errorf("uplink: joining was refused: %w", err)
		case errors.As(err, &refused) && refused.Leader != "" && len(control) < 8:
			control = append(control, refused.Leader)
		}
		last = errors.Join(last, fmt.Errorf("%s: %w", addr, err))
	}
	return fmt.Errorf("uplink: no control plane took this machine in: %w", last)
}

func (c *JoinConfig) check() (token pki.JoinToken, control []string, err error) {
	var errs []error
	if token, err = pki.ParseJoinToken(c.Token); err != nil {
		errs = append(errs, err)
	}
	if len(c.Control) == 0 {
		errs = append(errs, errors.New("uplink: JoinConfig.Control is empty; name the control plane's address, https://host:7443"))
	}
	for _, s := range c.Control {
		u, err := controlURL(s)
		errs = append(errs, err)
		control = append(control, u)
	}
	if c.DataDir == "" {
		errs = append(errs, errors.New("uplink: JoinConfig.DataDir is missing"))
	}
	if c.Node == "" {
		if c.Node, err = os.Hostname(); err != nil {
			errs = append(errs, fmt.Errorf("uplink: the host has no name (%w); name the node", err))
		}
		c.Node = strings.ToLower(c.Node)
	}
	return token, control, errors.Join(errs...)
}

// join asks one control plane. The authority it proves to be of is the one to
// trust from now on.
func join(ctx context.Context, addr string, token pki.JoinToken, in protocol.Join) (protocol.Certificate, string, error) {
	var out protocol.Certificate
	conf, err := pki.JoinTLS(token.Pin(), nil)
	if err != nil {
		return out, "", err
	}
	client := &http.Client{Transport: transportWith(conf), Timeout: 30 * time.Second, CheckRedirect: noRedirect}
	defer client.CloseIdleConnections()
	data, err := json.Marshal(in)
	if err != nil {
		return out, "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, addr+protocol.PathJoin, bytes.NewReader(data))
	if err != nil {
		return out, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return out, "", plain(err)
	}
	defer resp.Body.Close()
	if err := decodeAnswer(resp, &out); err != nil {
		return out, "", err
	}
	trust, err := pki.PinnedTrust(resp.TLS.PeerCertificates, token.Pin(), time.Now())
	if err != nil {
		return out, "", err
	}
	if out.Node != in.Node {
		return out, "", fmt.Errorf("the control plane certified %.200q and not %q; it is of another version, or not what it seems", out.Node, in.Node)
	}
	if _, err := pki.ParseCertificates([]byte(out.Certificate)); err != nil {
		return out, "", err
	}
	return out, string(trust.PEM()), nil
}
