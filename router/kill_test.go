package router_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router"
	"llmgw.io/llmgw/router/routertest"
	"llmgw.io/llmgw/storage"
)

const victimDir = "LLMGW_ROUTER_TEST_VICTIM"

// answering is a router over a folder whose engine answers at once.
func answering(t *testing.T, dir string, books *routertest.Books, id, secret string) *router.Router {
	t.Helper()
	var fleet routertest.Fleet
	fleet.Set("m", router.Backend{ID: "r1", Address: "r1:1"})
	r, err := router.New(router.Config{
		Models: routertest.NewCatalog(catalog.Model{Name: "m", Profiles: managed()}), Backends: &fleet, Usage: books, Pepper: pepper,
		Dir: dir, Declared: []storage.Key{{ID: id, Hash: pepper.Hash(secret)}},
		Upstream: routertest.Upstream(func(_ string, req *http.Request) (*http.Response, error) {
			asked, err := io.ReadAll(req.Body)
			if err != nil {
				return nil, err
			}
			rec := httptest.NewRecorder()
			routertest.Hello(rec, routertest.Call{Path: req.URL.Path, Body: asked, Request: req})
			return rec.Result(), nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestVictim is the process that TestKilled kills: it answers requests and says
// the id of each one that was answered whole. Its store is away.
func TestVictim(t *testing.T) {
	dir := os.Getenv(victimDir)
	if dir == "" {
		t.Skip("it is a part of TestKilled")
	}
	id, secret := storage.NewKeySecret()
	r := answering(t, dir, &routertest.Books{Fail: func() error { return io.ErrClosedPipe }}, id, secret)
	go r.Run(t.Context())
	for i := range 1_000_000 {
		body := chatBody
		if i%2 == 0 {
			body = streamBody
		}
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, chatPath, strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+secret)
		rec := &saying{ResponseRecorder: httptest.NewRecorder()}
		r.ServeHTTP(rec, req)
		rec.say()
	}
}

// saying tells the id of a request as soon as its answer is whole, before the
// handler returns.
type saying struct {
	*httptest.ResponseRecorder
	said bool
}

func (s *saying) Write(b []byte) (int, error) {
	n, err := s.ResponseRecorder.Write(b)
	if strings.Contains(string(b), "[DONE]") || strings.HasSuffix(string(b), "}}") {
		s.say()
	}
	return n, err
}

func (s *saying) say() {
	if !s.said {
		s.said = true
		fmt.Println("answered", s.Header().Get("X-Request-Id"))
	}
}

// Every answer that was seen whole has its row, however often the process is
// killed.
func TestKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	answered := map[string]bool{}
	for round := range 5 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestVictim$")
		cmd.Env = append(os.Environ(), victimDir+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			if n == 50+37*round {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			if id, ok := strings.CutPrefix(lines.Text(), "answered "); ok && len(id) == 30 {
				answered[id] = true
			}
		}
		_ = cmd.Wait() // it was killed
	}
	var books routertest.Books
	id, secret := storage.NewKeySecret()
	b := &bare{router: answering(t, dir, &books, id, secret)}
	b.ship(t)
	kept := map[string]bool{}
	for _, row := range books.Rows() {
		kept[row.ID] = true
		if row.Outcome != storage.OutcomeOK || row.CompletionTokens != 1 {
			t.Errorf("a row is %+v", row)
		}
	}
	missing := 0
	for id := range answered {
		if !kept[id] {
			missing++
		}
	}
	if missing > 0 || len(answered) < 250 {
		t.Errorf("of %d requests that were answered %d have no row", len(answered), missing)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}
