package gpu

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// children are made-up ones: each is what its number says.
type children struct {
	t       *testing.T
	started int
	live    int
	next    func(r *running)
}

func (c *children) spawn() (*running, error) {
	c.started++
	if c.live++; c.live > 1 {
		c.t.Error("there are two children at once")
	}
	r := &running{done: make(chan struct{}), kill: func() {}}
	c.next(r)
	return r, nil
}

func (c *children) end(r *running) {
	c.live--
	close(r.done)
}

func (c *children) answers(r *running) {
	r.out, _ = json.Marshal(answer{Snapshot: &Snapshot{Driver: "580"}})
	c.end(r)
}

func (c *children) fails(r *running) {
	r.code, r.errOut = 1, "something\nwent wrong\n"
	c.end(r)
}

// dies hangs until it is killed.
func (c *children) dies(r *running) { r.kill = func() { c.end(r) } }

func fakeChild(t *testing.T, c *children) *Child {
	t.Helper()
	child, err := NewChild(ChildConfig{Command: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	c.t, child.spawn = t, c.spawn
	return child
}

// A child that the kernel does not end is the last one, however often somebody
// asks, until it has ended.
func TestThereIsNoSecondChildBesideOneThatIsStuck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var stuck *running
		c := &children{next: func(r *running) { stuck = r }}
		child := fakeChild(t, c)
		began := time.Now()
		_, err := child.Snapshot(t.Context())
		if !errors.Is(err, ErrSilent) || time.Since(began) != 22*time.Second {
			t.Errorf("want no answer after 20 s and 2 s to die, got %v after %s", err, time.Since(began))
		}
		for range 100 {
			time.Sleep(time.Minute)
			began := time.Now()
			_, err := child.Snapshot(t.Context())
			if !errors.Is(err, ErrSilent) || !strings.Contains(err.Error(), "cannot be ended") || time.Since(began) != 0 {
				t.Fatalf("want the cause at once, got %v", err)
			}
		}
		if c.started != 1 {
			t.Errorf("want one child, got %d", c.started)
		}
		c.end(stuck)
		c.next = c.answers
		if s, err := child.Snapshot(t.Context()); err != nil || s.Driver != "580" {
			t.Errorf("want an answer once it has ended, got %+v, %v", s, err)
		}
	})
}

// After a failure the driver is left alone for a while, longer each time.
func TestFailuresAreNotRepeatedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &children{}
		c.next = c.fails
		child := fakeChild(t, c)
		for range 120 { // half an hour, a sample each 15 s
			_, err := child.Snapshot(t.Context())
			if err == nil || !strings.Contains(err.Error(), "code 1: went wrong") {
				t.Fatalf("want the last line of what it said, got %v", err)
			}
			time.Sleep(15 * time.Second)
		}
		// 30 s, 1, 2, 4 and then 5 minutes after another.
		if c.started != 9 {
			t.Errorf("want 9 tries in half an hour, got %d", c.started)
		}
		time.Sleep(lastRetry)
		c.next = c.answers
		for range 3 {
			if _, err := child.Snapshot(t.Context()); err != nil {
				t.Errorf("want an answer, got %v", err)
			}
		}
		c.next = c.dies
		before := c.started
		if _, err := child.Snapshot(t.Context()); !errors.Is(err, ErrSilent) {
			t.Errorf("want no answer, got %v", err)
		}
		time.Sleep(firstRetry)
		c.next = c.answers
		if _, err := child.Snapshot(t.Context()); err != nil || c.started != before+2 {
			t.Errorf("one that was killed is no hindrance: got %v after %d tries", err, c.started-before)
		}
	})
}

// Who asks and goes away does not make the driver look bad.
func TestACancelledQuestionIsNoFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &children{}
		c.next = c.dies
		child := fakeChild(t, c)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := child.Snapshot(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("want the context's error, got %v", err)
		}
		c.next = c.answers
		if _, err := child.Snapshot(t.Context()); err != nil {
			t.Errorf("want an answer, got %v", err)
		}
	})
}

// A child needs to find the driver's library, and nothing that the agent knows.
func TestAChildInheritsNothingElse(t *testing.T) {
	t.Parallel()
	for _, v := range command([]string{"x"}).Env {
		switch name, _, _ := strings.Cut(v, "="); name {
		case "PATH", "LD_LIBRARY_PATH", "NVIDIA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER":
		default:
			t.Errorf("the child is given %s", name)
		}
	}
}

func TestGarbledAnswers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                "garbled",
		"{}":                              "empty",
		`{"error":"no such luck"}`:        "no such luck",
		`{"snapshot":{"cards":[{"ind`:     "garbled",
		`{"error":"none","absent":true}`:  "none",
		`{"snapshot":{"cards":"a lot"}}}`: "garbled",
	} {
		if _, err := decode([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want %q, got %v", text, want, err)
		}
	}
	if _, err := decode([]byte(`{"error":"none","absent":true}`)); !errors.Is(err, ErrNoDriver) {
		t.Errorf("want that there is no driver, got %v", err)
	}
}

func TestConfigurationsAreChecked(t *testing.T) {
	t.Parallel()
	if _, err := NewChild(ChildConfig{}); err == nil {
		t.Error("want a complaint about no command")
	}
	if _, err := NewChild(ChildConfig{Command: []string{"x"}, Limit: -1}); err == nil {
		t.Error("want a complaint about the limit")
	}
	if _, err := New(Config{}); err == nil {
		t.Error("want a complaint about no source")
	}
}
