package hub_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/agent/hub"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// One question has one value for its answer, in a frame or as a stream.
func TestAsk(t *testing.T) {
	t.Parallel()
	whole := func(result string) func(id string) (protocol.Answer, io.Reader) {
		return func(id string) (protocol.Answer, io.Reader) {
			return protocol.Answer{ID: id, OK: true, Result: json.RawMessage(result)}, nil
		}
	}
	stream := func(text string) func(id string) (protocol.Answer, io.Reader) {
		return func(id string) (protocol.Answer, io.Reader) {
			return protocol.Answer{ID: id, OK: true}, strings.NewReader(text)
		}
	}
	for name, c := range map[string]struct {
		answer func(id string) (protocol.Answer, io.Reader)
		want   string
		err    error
	}{
		"a frame":             {answer: whole(`{"text":"found"}`), want: "found"},
		"a stream":            {answer: stream(`{"text":"found"}`), want: "found"},
		"larger than a frame": {answer: stream(`{"text":"` + strings.Repeat("x", protocol.MaxFrame) + `"}`), want: strings.Repeat("x", protocol.MaxFrame)},
		"no JSON":             {answer: stream(`found`), err: hub.ErrRefused},
		"nothing":             {answer: whole(``), err: hub.ErrRefused},
		"too much":            {answer: stream(strings.Repeat(" ", 17<<20)), err: hub.ErrRefused},
		"too deep":            {answer: stream(strings.Repeat("[", 1000)), err: hub.ErrRefused},
		"a refusal": {answer: func(id string) (protocol.Answer, io.Reader) {
			return protocol.Answer{ID: id, Error: "there is no such port"}, nil
		}, err: hub.ErrRefused},
		"silence": {err: hub.ErrTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h, reg := inMemory(t, hub.Config{})
				reg.Apply("n1", inventory.Report{}, time.Now())
				if err := h.Dispatch(t.Context(), 1, nil); err != nil {
					t.Fatal(err)
				}
				said := protocol.Sync{Node: "n1", Facts: &inventory.Facts{Features: protocol.Features}}
				if _, err := h.Sync(t.Context(), "n1", said); err != nil {
					t.Fatal(err)
				}
				var got struct{ Text string }
				done := make(chan error, 1)
				go func() {
					done <- h.Ask(t.Context(), "n1", protocol.AskLogs, map[string]string{"port": "1"}, time.Minute, &got)
				}()
				synctest.Wait()
				d, err := h.Sync(t.Context(), "n1", protocol.Sync{Node: "n1", Epoch: 1, Version: 1})
				if err != nil || len(d.Asks) != 1 || string(d.Asks[0].Args) != `{"port":"1"}` || time.Until(d.Asks[0].Deadline) != time.Minute {
					t.Fatalf("want one question with its arguments and a minute's time, got %+v, %v", d.Asks, err)
				}
				if c.answer != nil {
					ans, body := c.answer(d.Asks[0].ID)
					if err := h.Answer(t.Context(), "n1", ans, body); err != nil {
						t.Error(err)
					}
				}
				err = <-done
				if !errors.Is(err, c.err) || c.err == nil && err != nil || got.Text != c.want {
					t.Errorf("want %d letters and %v, got %d and %v", len(c.want), c.err, len(got.Text), err)
				}
			})
		})
	}
}

// TestAskOfAnAgentThatStartsAnew is not waited for: what was handed to the run
// before nobody answers, and what waits for a poll the new one gets.
func TestAskOfAnAgentThatStartsAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, reg := inMemory(t, hub.Config{})
		reg.Apply("n1", inventory.Report{}, time.Now())
		if err := h.Dispatch(t.Context(), 1, nil); err != nil {
			t.Fatal(err)
		}
		poll := func(run string, epoch int64) protocol.Desired {
			t.Helper()
			d, err := h.Sync(t.Context(), "n1", protocol.Sync{Node: "n1", Run: run, Epoch: epoch, Version: uint64(epoch), Facts: &inventory.Facts{Features: protocol.Features}})
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		poll("first", 0)
		ask := func() chan error {
			done := make(chan error, 1)
			go func() {
				var got struct{ Text string }
				done <- h.Ask(t.Context(), "n1", protocol.AskLogs, nil, time.Minute, &got)
			}()
			synctest.Wait()
			return done
		}
		lost := ask()
		if d := poll("first", 1); len(d.Asks) != 1 {
			t.Fatalf("got %+v", d.Asks)
		}
		waits := ask()
		d := poll("second", 1)
		if err := <-lost; !errors.Is(err, hub.ErrAway) || !strings.Contains(err.Error(), "started anew") {
			t.Errorf("an ask of the run before: %v", err)
		}
		if len(d.Asks) != 1 {
			t.Fatalf("want the ask that waited, got %+v", d.Asks)
		}
		if err := h.Answer(t.Context(), "n1", protocol.Answer{ID: d.Asks[0].ID, OK: true, Result: json.RawMessage(`{}`)}, nil); err != nil {
			t.Error(err)
		}
		if err := <-waits; err != nil {
			t.Errorf("an ask that waited: %v", err)
		}
	})
}
