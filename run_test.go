package llmgw

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

func TestTogether(t *testing.T) {
	t.Parallel()
	broken, late := errors.New("broken"), errors.New("could not be written down at the end")
	waits := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for name, c := range map[string]struct {
		parts []func(context.Context) error
		ended bool
		want  []error
	}{
		"the end is no failure": {parts: []func(context.Context) error{waits, waits}, ended: true},
		"one failure ends all":  {parts: []func(context.Context) error{waits, func(context.Context) error { return broken }}, want: []error{broken}},
		"a failure at the end is told": {
			parts: []func(context.Context) error{waits, func(ctx context.Context) error { <-ctx.Done(); return late }},
			ended: true, want: []error{late},
		},
		"so is one after another's": {
			parts: []func(context.Context) error{func(context.Context) error { return broken }, func(ctx context.Context) error { <-ctx.Done(); return late }},
			want:  []error{broken, late},
		},
		"a part that gave up by itself has failed": {
			parts: []func(context.Context) error{waits, func(context.Context) error { return context.Canceled }}, want: []error{context.Canceled},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.ended {
				cancel()
			}
			err := together(ctx, c.parts...)
			if len(c.want) == 0 && err != nil {
				t.Errorf("want no error, got %v", err)
			}
			for _, want := range c.want {
				if !errors.Is(err, want) {
					t.Errorf("want %v, got %v", want, err)
				}
			}
		})
	}
}

// opens listens on a free port of loopback.
func opens(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestServeThenStop shows the order of the end: no new request, then the ones
// that run, and only then what they stand on.
func TestServeThenStop(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var told []string
	tell := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, what)
	}
	asked, goOn := make(chan struct{}), make(chan struct{})
	l := opens(t)
	s := server{name: "client", listener: l, grace: time.Minute, logger: slog.New(slog.DiscardHandler), handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		<-goOn
		if r.Context().Err() != nil {
			tell("the request was cut off")
		}
		tell("the request is answered")
	})}
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- serveThenStop(ctx, []server{s}, func(ctx context.Context) error {
			<-ctx.Done()
			tell("the parts are stopped")
			return nil
		})
	}()
	answered := make(chan error, 1)
	go func() {
		resp, err := http.Get("http://" + l.Addr().String())
		if err == nil {
			resp.Body.Close()
		}
		answered <- err
	}()
	<-asked
	end()
	close(goOn)
	if err := errors.Join(<-answered, <-done); err != nil {
		t.Fatal(err)
	}
	if want := []string{"the request is answered", "the parts are stopped"}; !slices.Equal(told, want) {
		t.Errorf("want %q, got %q", want, told)
	}
}

// TestServeThenStopOnFailure shows that a part which fails ends the servers.
func TestServeThenStopOnFailure(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	s := server{name: "client", listener: opens(t), logger: slog.New(slog.DiscardHandler), handler: http.NotFoundHandler()}
	if err := serveThenStop(t.Context(), []server{s}, func(context.Context) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("want %v, got %v", broken, err)
	}
}

// TestServerCutsOff shows that a request that outstays its grace is cut off and
// may still say so.
func TestServerCutsOff(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	l := opens(t)
	s := server{name: "agents", listener: l, logger: slog.New(slog.DiscardHandler), handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "it ends")
	})}
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.run(ctx) }()
	go func() { <-asked; end() }()
	resp, err := http.Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); resp.StatusCode != http.StatusServiceUnavailable || string(b) != "it ends" || err != nil {
		t.Errorf("want the handler's last words, got %d %q, %v", resp.StatusCode, b, err)
	}
	if err := <-done; err != nil {
		t.Errorf("want a clean end, got %v", err)
	}
}
