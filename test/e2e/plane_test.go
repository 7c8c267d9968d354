//go:build unix

package e2e

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"llmgw.io/llmgw"
	"llmgw.io/llmgw/adminapi/adminclient"
	"llmgw.io/llmgw/adminapi/view"
)

// plane is a control plane as a process, and ways to speak to it.
type plane struct {
	*process
	t *testing.T
	// dir is the control plane's own data folder.
	dir  string
	args []string
	llmgw.Addresses
	admin *adminclient.Client
	token string
	// key is a client key for every model.
	key string
}

// startDev runs a whole system in a folder.
func startDev(t *testing.T, dir string, more ...string) *plane {
	t.Helper()
	args := append([]string{
		"dev", "--data", dir, "--client", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--agents", "127.0.0.1:0", "--node", "here",
	}, more...)
	p := &plane{t: t, dir: filepath.Join(dir, "control"), args: args}
	p.start()
	return p
}

// startServe runs a control plane at fixed addresses, so that agents and
// clients find it again when it was started anew.
func startServe(t *testing.T, more ...string) *plane {
	t.Helper()
	dir := t.TempDir()
	args := append([]string{
		"serve", "--data", dir, "--client", freeAddress(t), "--admin", freeAddress(t), "--agents", freeAddress(t),
	}, more...)
	p := &plane{t: t, dir: dir, args: args}
	p.start()
	return p
}

// start starts the process, also again, and waits until it answers.
func (p *plane) start() {
	p.t.Helper()
	notes := filepath.Join(p.dir, llmgw.AddressesFile)
	if err := os.Remove(notes); err != nil && !os.IsNotExist(err) {
		p.t.Fatal(err)
	}
	p.process = start(p.t, "control", controlBin, p.args...)
	until(p.t, "the control plane listens", soon, func() (bool, any) {
		if p.ended() {
			p.t.Fatalf("the control plane ended:\n%s", tail(p.output(), 20))
		}
		b, err := os.ReadFile(notes)
		return err == nil && json.Unmarshal(b, &p.Addresses) == nil && p.Addresses.Admin != "", err
	})
	until(p.t, "the owner's token is there", soon, func() (bool, any) {
		b, err := os.ReadFile(filepath.Join(p.dir, "admin.token"))
		p.token = strings.TrimSpace(string(b))
		return err == nil && p.token != "", err
	})
	var err error
	if p.admin, err = adminclient.New(adminclient.Config{BaseURL: p.Addresses.Admin, Token: p.token}); err != nil {
		p.t.Fatal(err)
	}
	until(p.t, "the admin API is ready", soon, func() (bool, any) {
		resp, err := http.Get(p.Addresses.Admin + "/readyz")
		if err != nil {
			return false, err
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK, resp.Status
	})
	if p.key == "" {
		p.key = p.newKey(view.KeyRequest{Name: "tests"}).Secret
	}
}

func (p *plane) newKey(in view.KeyRequest) view.Key {
	p.t.Helper()
	k, err := p.admin.CreateKey(p.t.Context(), in)
	if err != nil {
		p.t.Fatal(err)
	}
	return k
}

// untilNode waits for a state of a node.
func (p *plane) untilNode(id, state string) view.Node {
	p.t.Helper()
	var n view.Node
	until(p.t, "node "+id+" is "+state, 2*soon, func() (bool, any) {
		var err error
		n, err = p.admin.Node(p.t.Context(), id)
		if err != nil {
			return false, err
		}
		return n.State == state, n.State
	})
	return n
}

// free hands out addresses below those that the kernel and agents hand out, so
// that one which was let go is still there when its process is started again.
var freePort atomic.Int32

func freeAddress(t *testing.T) string {
	t.Helper()
	for range 1000 {
		port := 10000 + (os.Getpid()*37+int(freePort.Add(1)))%9000
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", itoa(port)))
		if err == nil {
			_ = l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no address is free")
	return ""
}

func itoa(n int) string { return strconv.Itoa(n) }
