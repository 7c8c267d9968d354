package hub

import (
	"errors"
	"testing"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/internal/pki"
	"llmgw.io/llmgw/inventory"
)

// applied is a Registry that counts what reaches it. Apply waits while hold is
// open.
type applied struct {
	fleet
	entered, hold chan struct{}
	n             *int
}

func (a applied) Apply(inventory.NodeID, inventory.Report, time.Time) {
	*a.n++
	a.entered <- struct{}{}
	<-a.hold
}

func cutting(t *testing.T) (*Hub, applied) {
	t.Helper()
	ca, err := pki.NewCA("test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	reg := applied{entered: make(chan struct{}, 2), hold: make(chan struct{}), n: new(int)}
	h, err := New(Config{Registry: reg, Enrolment: noEnrolment{}, CA: ca, EngineKey: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	return h, reg
}

// What was let in before the node was removed must not make it known again.
func TestReportsAfterRevoke(t *testing.T) {
	t.Parallel()
	h, reg := cutting(t)
	close(reg.hold)
	c := caller{node: "n1", session: h.session("n1")}
	h.Revoke("n1")
	var refusal *protocol.Error
	if _, err := h.beat(t.Context(), c, protocol.Beat{Node: "n1"}); !errors.As(err, &refusal) || refusal.Code != protocol.CodeRevoked {
		t.Errorf("a beat that was on its way: %v", err)
	}
	if _, err := h.sync(t.Context(), c, protocol.Sync{Node: "n1"}); !errors.As(err, &refusal) || refusal.Code != protocol.CodeRevoked {
		t.Errorf("a poll that was on its way: %v", err)
	}
	if *reg.n != 0 {
		t.Errorf("%d reports reached the registry", *reg.n)
	}
}

// Revoke returns once no report of the node is on its way to the registry.
func TestRevokeWaits(t *testing.T) {
	t.Parallel()
	h, reg := cutting(t)
	c := caller{node: "n1", session: h.session("n1")}
	go func() { _, _ = h.beat(t.Context(), c, protocol.Beat{Node: "n1"}) }()
	<-reg.entered
	released := make(chan struct{})
	go func() {
		<-c.session.cut.Done()
		close(released)
		close(reg.hold)
	}()
	h.Revoke("n1")
	select {
	case <-released:
	default:
		t.Error("Revoke returned while a report was on its way")
	}
}
