package ctl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/adminapi/view"
)

// fleet is a control plane whose nodes upgrade as their names say: bad ones go back,
// late ones never run it, refusing ones refuse.
type fleet struct {
	mu    sync.Mutex
	nodes []view.Node
	// asked are nodes that were asked, in order; most is how many were under way at
	// once.
	asked []string
	begun map[string]time.Time
	most  int
}

const upgradeTakes = 20 * time.Second

func (f *fleet) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := httptest.NewRecorder()
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1/nodes"), "/")
	switch {
	case len(path) == 1:
		json.NewEncoder(w).Encode(f.nodes)
	case r.Method == http.MethodPost:
		f.post(w, r, path[1])
	default:
		json.NewEncoder(w).Encode(f.now(path[1]))
	}
	resp := w.Result()
	resp.Request = r
	return resp, nil
}

func (f *fleet) post(w http.ResponseWriter, r *http.Request, id string) {
	var in view.NodeUpgradeRequest
	json.NewDecoder(r.Body).Decode(&in)
	f.asked = append(f.asked, id)
	if strings.Contains(id, "refuses") {
		w.WriteHeader(http.StatusBadGateway)
		json.NewEncoder(w).Encode(view.Error{Error: "its signature does not fit", Code: "agent_failed"})
		return
	}
	f.begun[id] = time.Now()
	under := 0
	for _, at := range f.begun {
		if time.Since(at) < upgradeTakes {
			under++
		}
	}
	f.most = max(f.most, under)
	json.NewEncoder(w).Encode(view.NodeUpgrade{Node: id, Version: in.Version})
}

// now is a node: first as it was, then unreachable, then on trial, then as its name
// says.
func (f *fleet) now(id string) view.Node {
	i := slices.IndexFunc(f.nodes, func(n view.Node) bool { return n.ID == id })
	n := f.nodes[i]
	at, begun := f.begun[id]
	took := time.Since(at)
	switch {
	case !begun || took < 3*time.Second:
	case took < 6*time.Second:
		n.State = "unreachable"
	case took < upgradeTakes || strings.Contains(id, "late"):
		n.AgentVersion, n.Upgrade = "v0.0.2", &view.Upgrade{To: "v0.0.2", State: "trial", Since: "2"}
	case strings.Contains(id, "bad"):
		n.Upgrade = &view.Upgrade{From: "v0.0.1", To: "v0.0.2", State: "failed", Error: "v0.0.2 was not answered", Since: "2"}
	default:
		n.AgentVersion, n.Upgrade = "v0.0.2", &view.Upgrade{To: "v0.0.2", State: "done", Since: "2"}
	}
	return n
}

func TestUpgradeNodes(t *testing.T) {
	t.Parallel()
	failedBefore := &view.Upgrade{From: "v0.0.1", To: "v0.0.2", State: "failed", Error: "long ago", Since: "1"}
	for _, c := range []struct {
		name  string
		nodes string // with =state where they are not ready
		args  string
		asked string
		most  int
		err   string // empty: all run it
		out   []string
	}{
		{"all, one by one", "a b c", "--all", "a b c", 1, "", []string{"a     v0.0.1  done", "c     v0.0.1  done"}},
		{"in waves", "a b c d e", "--all --wave 2", "a b c d e", 2, "", nil},
		{"those that are named", "a b c", "c a", "a c", 1, "", nil},
		{"one that is cordoned stays so", "a=cordoned", "a", "a", 1, "", nil},
		{"the first that goes back stops it", "a b-bad c d", "--all", "a b-bad", 1, "1 of 4 nodes run v0.0.2; failed: b-bad; not begun: c, d; the same command goes on", []string{"v0.0.2 was not answered", "not begun"}},
		{"a wave ends", "a-bad b c d", "--all --wave 2", "a-bad b", 2, "1 of 4 nodes run v0.0.2; failed: a-bad; not begun: c, d", nil},
		{"one that refuses", "a b-refuses c", "--all", "a b-refuses", 1, "failed: b-refuses", []string{"does not fit"}},
		{"one that is late", "a-late b", "--all --timeout 1m", "a-late", 1, "failed: a-late", []string{"does not run v0.0.2 after 1m0s"}},
		{"one that nobody hears", "a b=lost c", "--all", "a c", 1, "2 of 3 nodes run v0.0.2; not begun: b", []string{"it is lost"}},
		{"one that is named wrong", "a b", "a x", "", 0, `there is no node "x"`, nil},
		{"nothing is named", "a", "", "", 0, "name nodes, or give --all", nil},
		{"both", "a", "a --all", "", 0, "and not both", nil},
		{"no node", "", "--all", "", 0, "", nil},
		{"no wave", "a", "a --wave 0", "", 0, "1 or more", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &fleet{begun: map[string]time.Time{}, nodes: []view.Node{}}
				for _, word := range strings.Fields(c.nodes) {
					id, state, _ := strings.Cut(word, "=")
					if state == "" {
						state = "ready"
					}
					f.nodes = append(f.nodes, view.Node{ID: id, State: state, AgentVersion: "v0.0.1", Upgrade: failedBefore})
				}
				var out, errOut bytes.Buffer
				cmd := command(outside{http: &http.Client{Transport: f}})
				cmd.Writer, cmd.ErrWriter = &out, &errOut
				args := append([]string{"ctl", "--token", "x", "--server", "http://127.0.0.1:1", "nodes", "upgrade", "--version", "v0.0.2"}, strings.Fields(c.args)...)
				err := cmd.Run(t.Context(), args)
				if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
					t.Errorf("want %q, got %v", c.err, err)
				}
				slices.Sort(f.asked) // those of a wave are asked at once
				if got := strings.Join(f.asked, " "); got != c.asked || f.most != c.most {
					t.Errorf("want %q asked, %d at once; got %q, %d", c.asked, c.most, got, f.most)
				}
				for _, want := range c.out {
					if !strings.Contains(out.String(), want) {
						t.Errorf("want %q in\n%s", want, out.String())
					}
				}
			})
		})
	}
}

// TestUpgradeGoesOn repeats the command: those that run the version are left alone.
func TestUpgradeGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{begun: map[string]time.Time{}, nodes: []view.Node{
			{ID: "a", State: "ready", AgentVersion: "v0.0.2"},
			{ID: "b", State: "ready", AgentVersion: "v0.0.1"},
			{ID: "c", State: "ready", AgentVersion: "v0.0.2", Upgrade: &view.Upgrade{To: "v0.0.2", State: "done"}},
		}}
		var out bytes.Buffer
		cmd := command(outside{http: &http.Client{Transport: f}})
		cmd.Writer, cmd.ErrWriter = &out, &bytes.Buffer{}
		if err := cmd.Run(t.Context(), []string{"ctl", "--token", "x", "-o", "json", "nodes", "upgrade", "--all", "--version", "v0.0.2"}); err != nil {
			t.Fatal(err)
		}
		var got []nodeUpgrade
		if err := json.Unmarshal(out.Bytes(), &got); err != nil || fmt.Sprint(f.asked) != "[b]" || len(got) != 3 || got[0].State != "done" || got[1].From != "v0.0.1" {
			t.Errorf("asked %v, got %+v, %v", f.asked, got, err)
		}
	})
}
