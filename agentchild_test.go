package llmgw

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"llmgw.io/llmgw/internal/pki"
)

// TestMain lets this very program stand in for the agent's: it tells the control
// plane's address, which a test serves, what it was asked to do.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "join" || os.Args[1] == "run") {
		os.Exit(standIn(os.Args[1], os.Args[2:]))
	}
	os.Exit(m.Run())
}

// standIn is the agent's program, as far as the control plane sees it. It fails
// when it is told to, and runs until it is ended.
func standIn(do string, args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	told := url.Values{"args": args, "token": {os.Getenv("LLMGW_JOIN_TOKEN")}}
	at := args[slices.Index(args, "--control")+1]
	resp, err := http.Get(at + "/" + do + "?" + told.Encode())
	if err != nil || resp.StatusCode != http.StatusOK {
		fmt.Fprintln(os.Stderr, "the stand-in was refused:", err)
		return 1
	}
	resp.Body.Close()
	if do == "join" {
		dir := args[slices.Index(args, "--data-dir")+1]
		if err := os.WriteFile(filepath.Join(dir, "identity.json"), []byte("{}"), 0o600); err != nil {
			return 1
		}
		return 0
	}
	<-ctx.Done()
	return 0
}

// beside runs the stand-in beside a control plane, and answers what it was asked
// to do until it runs, or until it was refused.
func beside(t *testing.T, dir string, refuse bool) (asked []string, err error) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var mu sync.Mutex
	control := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.URL.Path+" "+strings.Join(r.URL.Query()["args"], " "))
		if _, err := pki.ParseJoinToken(r.URL.Query().Get("token")); r.URL.Path == "/join" && err != nil {
			t.Errorf("want a token that reads, got %v", err)
		}
		switch {
		case refuse:
			w.WriteHeader(http.StatusForbidden)
		case r.URL.Path == "/run":
			end()
		}
	}))
	defer control.Close()
	c := plane(t)
	err = AgentChild{Program: program, Dir: dir, Node: "here"}.Beside(ctx, func(ctx context.Context, ready func(*ControlPlane, Addresses)) error {
		ready(c, Addresses{Agents: control.URL})
		<-ctx.Done()
		return nil
	})
	mu.Lock()
	defer mu.Unlock()
	return slices.Clone(asked), err
}

// TestAgentChild shows that an agent joins once and is ended with its control
// plane.
func TestAgentChild(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("windows ends a process in another way")
	}
	dir := t.TempDir()
	asked, err := beside(t, dir, false)
	if err != nil || len(asked) != 2 || !strings.HasPrefix(asked[0], "/join ") || !strings.Contains(asked[0], "--name here") ||
		!strings.HasPrefix(asked[1], "/run ") || !strings.Contains(asked[1], "--stop-engines") {
		t.Errorf("want it to join and to run, got %q, %v", asked, err)
	}
	asked, err = beside(t, dir, false)
	if err != nil || len(asked) != 1 || !strings.HasPrefix(asked[0], "/run ") {
		t.Errorf("want a node that has joined to run, got %q, %v", asked, err)
	}
	if _, err := beside(t, t.TempDir(), true); err == nil || !strings.Contains(err.Error(), "could not join") {
		t.Errorf("want the control plane to end with the reason, got %v", err)
	}
}

func TestFindAgent(t *testing.T) {
	t.Parallel()
	if got, err := FindAgent("/opt/llmgw-agent"); got != "/opt/llmgw-agent" || err != nil {
		t.Errorf("want the one that is named, got %q, %v", got, err)
	}
}
