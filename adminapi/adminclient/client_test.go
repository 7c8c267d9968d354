package adminclient

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"llmgw.io/llmgw/adminapi/view"
)

// server answers with a handler and returns a client of it.
func server(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	c, err := New(Config{BaseURL: srv.URL + "/under/", Token: "TOKEN", Actor: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for in, ok := range map[string]bool{
		"http://127.0.0.1:7070": true, "https://control.example.org/llmgw/": true,
		"": false, "127.0.0.1:7070": false, "ftp://example.org": false, "http://": false, "http://user:secret@example.org": false, "http://example.org?x=1": false,
	} {
		_, err := New(Config{BaseURL: in})
		if (err == nil) != ok {
			t.Errorf("%q: want %v, got %v", in, ok, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("an error must not repeat a password: %v", err)
		}
	}
}

func TestRequestsSayWhoAndWhat(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body string
	c := server(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got, body = r, string(b)
		io.WriteString(w, `{"model":"org/tiny:q4","min":1,"max":1,"on_demand":false,"something_new":true}`)
	})
	v, err := c.ScaleModel(t.Context(), "org/tiny:q4", view.ScaleRequest{Min: 1})
	if err != nil || v.Model != "org/tiny:q4" {
		t.Fatalf("want the answer, with what is new passed over, got %+v, %v", v, err)
	}
	if want := "/under/api/v1/models/org%2Ftiny:q4/scale"; got.URL.EscapedPath() != want {
		t.Errorf("want the path %s, got %s", want, got.URL.EscapedPath())
	}
	if got.Header.Get("Authorization") != "Bearer TOKEN" || got.Header.Get("X-Llmgw-Actor") != "ann" || got.Header.Get("Content-Type") != "application/json" || body != `{"min":1}` {
		t.Errorf("got %v %s", got.Header, body)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	c := server(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", "ID42")
		switch r.URL.Query().Get("model") {
		case "view":
			w.WriteHeader(http.StatusConflict)
			json.NewEncoder(w).Encode(view.Error{Error: "it is taken", Code: "exists"})
		case "page":
			w.WriteHeader(http.StatusBadGateway)
			io.WriteString(w, "<html>nginx</html>")
		case "elsewhere":
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
		default:
			io.WriteString(w, "<html>hello</html>")
		}
	})
	var e *Error
	if _, err := c.Explain(t.Context(), "view"); !errors.As(err, &e) || *e != (Error{Status: 409, Code: "exists", Text: "it is taken", RequestID: "ID42"}) {
		t.Errorf("want the refusal, got %+v", err)
	}
	if _, err := c.Explain(t.Context(), "page"); !errors.As(err, &e) || e.Status != 502 || e.Code != "" || strings.Contains(e.Text, "html") {
		t.Errorf("want to be told that it is no control plane, got %+v", err)
	}
	if _, err := c.Explain(t.Context(), "elsewhere"); !errors.As(err, &e) || e.Status != 302 {
		t.Errorf("a redirect is not followed with the token, got %+v", err)
	}
	if _, err := c.Explain(t.Context(), "hello"); err == nil || errors.As(err, &e) && e.Status == 200 {
		t.Errorf("want an error, got %v", err)
	}
}

func TestNextCursor(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`<?limit=2&cursor=YQ>; rel="next"`: "YQ", `<?cursor=YQ>; rel="prev"`: "", "": "", "nonsense": "", `<%zz>; rel="next"`: "",
	} {
		if got := nextCursor(in); got != want {
			t.Errorf("%s: want %q, got %q", in, want, got)
		}
	}
}
