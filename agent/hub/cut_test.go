package hub_test

import (
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/agent/hub"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// With a node go the questions that wait for it, the one that it is answering, and
// the log that somebody reads, all within the call; who asks afterwards is told that
// it is away, and whoever wants to know is told once.
func TestCutEndsQuestions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told []inventory.NodeID
		h, reg := inMemory(t, hub.Config{Cut: func(n inventory.NodeID) { told = append(told, n) }})
		for _, n := range []inventory.NodeID{"n1", "n2"} {
			reg.Apply(n, inventory.Report{Facts: &inventory.Facts{Features: protocol.Features}}, time.Now())
		}
		if err := h.Dispatch(t.Context(), 1, nil); err != nil {
			t.Fatal(err)
		}
		poll := func(n inventory.NodeID) []protocol.Ask {
			d, err := h.Sync(t.Context(), n, protocol.Sync{Node: string(n), Epoch: 1, Version: 1})
			if err != nil {
				t.Error(err)
			}
			return d.Asks
		}
		logs := make(chan error, 2)
		follow := func(n inventory.NodeID) {
			log, err := h.Logs(t.Context(), n, protocol.LogsArgs{Follow: true})
			if err == nil {
				_, err = io.Copy(io.Discard, log)
				_ = log.Close()
			}
			logs <- err
		}
		for _, n := range []inventory.NodeID{"n1", "n2"} {
			asks := make(chan []protocol.Ask, 1)
			go func() { asks <- poll(n) }()
			synctest.Wait()
			go follow(n)
			synctest.Wait()
			ask := <-asks
			r, w := io.Pipe() // a log that is quiet after its first line
			defer w.Close()
			go func() { _ = h.Answer(t.Context(), n, protocol.Answer{ID: ask[0].ID, OK: true}, r) }()
			if _, err := io.WriteString(w, "a line\n"); err != nil {
				t.Fatal(err)
			}
		}
		waits := make(chan error, 1)
		go func() { waits <- h.Ask(t.Context(), "n1", protocol.AskCollect, struct{}{}, time.Minute, new(struct{})) }()
		synctest.Wait()
		began := time.Now()
		h.Revoke("n1")
		synctest.Wait()
		for what, c := range map[string]chan error{"the log": logs, "the question that waits": waits} {
			select {
			case err := <-c:
				if !errors.Is(err, hub.ErrAway) {
					t.Errorf("%s ended with %v", what, err)
				}
			default:
				t.Errorf("%s goes on", what)
			}
		}
		if err := h.Ask(t.Context(), "n1", protocol.AskCollect, struct{}{}, time.Minute, new(struct{})); !errors.Is(err, hub.ErrAway) {
			t.Errorf("afterwards: %v", err)
		}
		if len(told) != 1 || told[0] != "n1" || time.Since(began) > 0 {
			t.Errorf("told of %v, after %s", told, time.Since(began))
		}
		select {
		case err := <-logs:
			t.Errorf("another node's log ended with %v", err)
		default:
		}
		h.Revoke("n2")
		<-logs
	})
}
