package inventory_test

import (
	"errors"
	"testing"
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
)

func held(s *inventory.Snapshot, id inventory.NodeID) string {
	h := s.Node(id).Held
	if h.Out {
		return "out: " + h.Reason
	}
	return h.Reason
}

func TestHeldByWhereANodeStands(t *testing.T) {
	t.Parallel()
	fleet, err := inventorytest.Parse(`
hold row:w1 "PDU swap"
hold rack:r2 out
hold node:d4
d1 rack=r1 row=w1
d2 rack=r2 row=w1
d3 rack=r3
d4
`)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[inventory.NodeID]string{
		"d1": "row w1 is held: PDU swap",
		"d2": "out: rack r2 is held",
		"d3": "",
		"d4": "node d4 is held",
	} {
		if got := held(fleet, id); got != want {
			t.Errorf("%s: want %q, got %q", id, want, got)
		}
	}
	if fleet.Node("d3").Version != 1 || fleet.Node("d1").Version != 1 {
		t.Error("a copy keeps the version of the snapshot it is made from")
	}
}

func TestHoldInItsTime(t *testing.T) {
	t.Parallel()
	h := inventory.Hold{Domain: inventory.Domain{Level: inventory.LevelRack, Name: "r1"}, From: start.Add(time.Hour), Until: start.Add(2 * time.Hour)}
	for _, c := range []struct {
		at      time.Duration
		inForce bool
	}{{0, false}, {time.Hour, true}, {2*time.Hour - 1, true}, {2 * time.Hour, false}} {
		if got := h.InForce(start.Add(c.at)); got != c.inForce {
			t.Errorf("after %s: want in force %t, got %t", c.at, c.inForce, got)
		}
	}
}

// TestHoldAhead: shortly before planned work begins nothing new is placed there,
// and nothing is carried out yet.
func TestHoldAhead(t *testing.T) {
	t.Parallel()
	fleet, err := inventorytest.Parse("d1 rack=r1")
	if err != nil {
		t.Fatal(err)
	}
	rack := inventory.Domain{Level: inventory.LevelRack, Name: "r1"}
	plan := inventory.Hold{Domain: rack, Reason: "PDU swap", From: start.Add(time.Hour), Until: start.Add(2 * time.Hour)}
	for _, c := range []struct {
		at   time.Duration
		want string
	}{
		{time.Hour - inventory.HoldAhead - 1, ""},
		{time.Hour - inventory.HoldAhead, "rack r1 is held: from " + plan.From.UTC().Format("15:04 UTC on 2 January") + ", PDU swap"},
		{time.Hour, "out: rack r1 is held: PDU swap"},
		{2 * time.Hour, ""},
	} {
		if got := held(fleet.WithHolds([]inventory.Hold{plan}, start.Add(c.at)), "d1"); got != c.want {
			t.Errorf("after %s: want %q, got %q", c.at, c.want, got)
		}
	}
	// One that ends before it would begin never was.
	plan.Until = start
	if got := held(fleet.WithHolds([]inventory.Hold{plan}, start.Add(time.Hour-1)), "d1"); got != "" {
		t.Errorf("want nothing of a hold that has ended, got %q", got)
	}
}

func TestParseDomain(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"rack:r12-07", "pdu:a/b", "site:north hall", "node:gpu-1", "rack:a:b"} {
		d, err := inventory.ParseDomain(text)
		if err != nil || d.String() != text {
			t.Errorf("%q: got %v, %v", text, d, err)
		}
	}
	for _, text := range []string{"", "rack", "rack:", "shelf:1", ":r1", "rack:a\nb"} {
		if _, err := inventory.ParseDomain(text); !errors.Is(err, inventory.ErrInvalid) {
			t.Errorf("%q: want ErrInvalid, got %v", text, err)
		}
	}
}
