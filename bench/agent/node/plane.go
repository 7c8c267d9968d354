package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"llmgw.io/llmgw/adminapi/adminclient"
	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/internal/pki"
	"llmgw.io/llmgw/storage/bunstore"
)

// soon is how long anything may take that takes no time on a quiet machine.
const soon = time.Minute

// plane is the control plane's program, and ways to speak to it.
type plane struct {
	*process
	bin, dir string
	// ca is the cluster's authority, which was made here.
	ca    *pki.CA
	at    struct{ Client, Admin, Agents string }
	admin *adminclient.Client
	key   string
}

func startPlane(ctx context.Context, bin, dir string) (*plane, error) {
	p := &plane{bin: bin, dir: dir}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	var err error
	if p.ca, err = authority(ctx, filepath.Join(dir, "llmgw.db")); err != nil {
		return nil, err
	}
	p.process, err = start(filepath.Join(dir, "output"), filepath.Join(bin, "llmgw-control"),
		"serve", "--data", dir, "--client", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--agents", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	if err := p.meet(ctx); err != nil {
		p.end()
		return nil, fmt.Errorf("%w\n%s", err, p.said())
	}
	return p, nil
}

// authority puts the cluster's authority into the store before anybody else does.
func authority(ctx context.Context, path string) (*pki.CA, error) {
	s, err := bunstore.Open(ctx, bunstore.Config{DSN: path})
	if err != nil {
		return nil, err
	}
	cert, key, err := s.Authority(ctx, func() ([]byte, []byte, error) {
		ca, err := pki.NewCA("llmgw", time.Now())
		if err != nil {
			return nil, nil, err
		}
		return ca.CertPEM(), ca.KeyPEM(), nil
	})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return pki.ParseCA(cert, key)
}

// meet waits until the control plane serves, and makes a key for clients.
func (p *plane) meet(ctx context.Context) error {
	err := until(ctx, "the control plane listens", soon, func() (bool, any) {
		b, err := os.ReadFile(filepath.Join(p.dir, "addresses.json"))
		return err == nil && json.Unmarshal(b, &p.at) == nil && p.at.Admin != "", err
	})
	if err != nil {
		return err
	}
	var token string
	err = until(ctx, "the owner's token is there", soon, func() (bool, any) {
		b, err := os.ReadFile(filepath.Join(p.dir, "admin.token"))
		token = strings.TrimSpace(string(b))
		return err == nil && token != "", err
	})
	if err != nil {
		return err
	}
	if p.admin, err = adminclient.New(adminclient.Config{BaseURL: p.at.Admin, Token: token}); err != nil {
		return err
	}
	err = until(ctx, "the admin API is ready", soon, func() (bool, any) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.at.Admin+"/readyz", http.NoBody)
		if err != nil {
			return false, err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return false, err
		}
		return res.Body.Close() == nil && res.StatusCode == http.StatusOK, res.Status
	})
	if err != nil {
		return err
	}
	k, err := p.admin.CreateKey(ctx, view.KeyRequest{Name: "bench"})
	p.key = k.Secret
	return err
}

// join makes a data folder a node's.
func (p *plane) join(ctx context.Context, name, dir string) error {
	tok, err := p.admin.CreateJoinToken(ctx)
	if err != nil {
		return err
	}
	return runProgram(ctx, []string{"LLMGW_JOIN_TOKEN=" + tok.Token}, filepath.Join(p.bin, "llmgw-agent"),
		"join", "--control", p.at.Agents, "--name", name, "--data-dir", dir)
}

// agent runs the agent of a data folder. config is YAML.
func (p *plane) agent(dir, config string, args ...string) (*process, error) {
	file := dir + ".yaml"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, err
	}
	return start(dir+".output", filepath.Join(p.bin, "llmgw-agent"), append([]string{"run", "--data-dir", dir, "--config", file}, args...)...)
}

// replicas are those of a model.
func (p *plane) replicas(ctx context.Context, model string) ([]view.Replica, error) {
	return adminclient.All(func(cursor string) ([]view.Replica, string, error) {
		return p.admin.Replicas(ctx, adminclient.ReplicaList{Model: model, List: adminclient.List{Cursor: cursor}})
	})
}
