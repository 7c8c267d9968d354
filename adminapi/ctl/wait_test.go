package ctl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/adminapi/view"
)

// scene is what a control plane says at one look; nil models: it is away.
type scene struct {
	model    *view.ModelView
	replicas []view.Replica
	status   int
}

// stage plays scenes, one for each look; the last one stays.
type stage struct {
	scenes []scene
	at     int
}

func (p *stage) RoundTrip(r *http.Request) (*http.Response, error) {
	s := p.scenes[min(p.at, len(p.scenes)-1)]
	w := httptest.NewRecorder()
	switch {
	case s.status != 0:
		p.at++
		w.WriteHeader(s.status)
		json.NewEncoder(w).Encode(view.Error{Error: "no", Code: "forbidden"})
	case s.model == nil:
		p.at++
		return nil, errors.New("connection reset")
	case strings.HasSuffix(r.URL.Path, "/models"):
		json.NewEncoder(w).Encode([]view.ModelView{*s.model})
	default:
		p.at++
		json.NewEncoder(w).Encode(s.replicas)
	}
	resp := w.Result()
	resp.Request = r
	return resp, nil
}

func fetching(percent int64) []view.Replica {
	return []view.Replica{{State: "fetching", Shards: []view.Shard{{Fetch: &view.Fetch{BytesDone: percent << 20, BytesTotal: 100 << 20}}}}}
}

func model(change func(*view.ModelView)) *view.ModelView {
	m := &view.ModelView{Name: "tiny", MinReplicas: 1, MaxReplicas: 1, DesiredReplicas: 1}
	if change != nil {
		change(m)
	}
	return m
}

func TestWait(t *testing.T) {
	t.Parallel()
	ready := model(func(m *view.ModelView) { m.ReadyReplicas = 1 })
	starting := []view.Replica{{State: "starting"}}
	cases := []struct {
		name   string
		scenes []scene
		flags  []string
		lines  string
		err    string // empty: it ends well
	}{
		{"from nothing to ready", []scene{
			{model: model(nil)},
			{model: model(nil), replicas: fetching(0)},
			{model: model(nil), replicas: fetching(41)},
			{model: model(nil), replicas: fetching(44)},
			{model: model(nil), replicas: fetching(90)},
			{model: model(nil), replicas: starting},
			{model: model(nil), replicas: starting},
			{model: ready},
		}, nil, "waiting to be placed|fetching 100 MiB|fetching 100 MiB, 40%|fetching 100 MiB, 90%|starting|ready, 1 of 1 replicas", ""},
		{"ready already", []scene{{model: ready}}, nil, "ready, 1 of 1 replicas", ""},
		{
			"parked",
			[]scene{{model: model(nil), replicas: starting}, {model: model(func(m *view.ModelView) { m.Parked, m.Failures, m.Reason = true, 5, "no such file" })}},
			nil,
			"starting", "model tiny is parked after 5 failed starts: no such file; mend that and run models retry tiny",
		},
		{
			"no room, then room",
			[]scene{{model: model(func(m *view.ModelView) { m.Unplaceable = true })}, {model: ready}},
			nil,
			"no node has room; explain tiny says why|ready, 1 of 1 replicas", "",
		},
		{"the control plane is away for a moment", []scene{{model: model(nil), replicas: starting}, {}, {}, {model: ready}}, nil, "starting|ready, 1 of 1 replicas", ""},
		{"the control plane stays away", []scene{{model: model(nil), replicas: starting}, {}}, nil, "starting", "cannot be reached"},
		{"it was never there", []scene{{}}, nil, "", "cannot be reached"},
		{"the token is taken away", []scene{{model: model(nil), replicas: starting}, {status: 403}}, nil, "starting", "no"},
		{"out of time", []scene{{model: model(nil), replicas: starting}}, []string{"--timeout", "10s"}, "starting", "not ready after 10s"},
		{"on demand", []scene{{model: model(func(m *view.ModelView) { m.MinReplicas, m.DesiredReplicas = 0, 0 })}}, nil, "runs on demand, and nobody asks for it now", ""},
		{"scaled to none", []scene{{model: model(func(m *view.ModelView) { m.MinReplicas, m.MaxReplicas, m.DesiredReplicas = 0, 0, 0 })}}, nil, "", "scaled to none"},
		{"served by others", []scene{{model: model(func(m *view.ModelView) { m.External = "api.example.org · big" })}}, nil, "served by api.example.org · big", ""},
		{
			"fewer than wanted",
			[]scene{{model: model(func(m *view.ModelView) { m.MinReplicas, m.DesiredReplicas, m.ReadyReplicas = 3, 3, 1 })}},
			[]string{"--replicas", "1"},
			"ready, 1 of 3 replicas", "",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var out, errOut bytes.Buffer
				cmd := command(outside{http: &http.Client{Transport: &stage{scenes: c.scenes}}})
				cmd.Writer, cmd.ErrWriter = &out, &errOut
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				err := cmd.Run(ctx, append([]string{"ctl", "--token", "x", "--server", "http://127.0.0.1:1", "wait", "tiny"}, c.flags...))
				if (err == nil) != (c.err == "") || (err != nil && !strings.Contains(err.Error(), c.err)) {
					t.Errorf("want %q, got %v", c.err, err)
				}
				got := strings.ReplaceAll(strings.TrimSpace(errOut.String()), "tiny: ", "")
				if got = strings.ReplaceAll(got, "\n", "|"); got != c.lines {
					t.Errorf("want the lines\n%s\ngot\n%s", c.lines, got)
				}
			})
		})
	}
}

func TestOwnTokenStaysOnThisMachine(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]bool{
		"http://127.0.0.1:7070": true, "http://localhost:7070": true, "http://[::1]:7070": true,
		"http://10.0.0.1:7070": false, "https://control.example.org": false, "http://localhost.example.org": false, "::": false,
	} {
		if got := onLoopback(server); got != want {
			t.Errorf("%s: want %v, got %v", server, want, got)
		}
	}
}

func TestOthersCannotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	if got := printable("a\x1b[31mb\u202ec\nd"); strings.ContainsAny(got, "\x1b\u202e\n") {
		t.Errorf("got %q", got)
	}
}
