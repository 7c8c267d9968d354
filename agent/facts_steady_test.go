package agent

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/inventory"
)

// Free room moves all the time, and facts are sent when they are others.
func TestRoomThatHardlyMovedIsNoNewFact(t *testing.T) {
	t.Parallel()
	const total = 1 << 20
	old := []inventory.Disk{{Mount: "/a", FreeMB: 500000, TotalMB: total}, {Mount: "/b", FreeMB: 3000, TotalMB: 8000}, {Mount: "/gone", FreeMB: 1, TotalMB: 1}}
	now := []inventory.Disk{{Mount: "/a", FreeMB: 491000, TotalMB: total}, {Mount: "/b", FreeMB: 1976, TotalMB: 8000}, {Mount: "/new", FreeMB: 7, TotalMB: 8}}
	want := []inventory.Disk{{Mount: "/a", FreeMB: 500000, TotalMB: total}, {Mount: "/b", FreeMB: 1976, TotalMB: 8000}, {Mount: "/new", FreeMB: 7, TotalMB: 8}}
	if d := cmp.Diff(want, steady(now, old)); d != "" || now[0].FreeMB != 491000 {
		t.Errorf("(-want +got):\n%s", d)
	}
	full := []inventory.Disk{{Mount: "/b", TotalMB: 8000}}
	if got := steady(full, []inventory.Disk{{Mount: "/b", FreeMB: 900, TotalMB: 8000}}); got[0].FreeMB != 0 {
		t.Errorf("want a full disk said, got %+v", got)
	}
	other := []inventory.Disk{{Mount: "/a", Type: "xfs", FreeMB: 499999, TotalMB: total}}
	if got := steady(other, old); got[0].FreeMB != 499999 {
		t.Errorf("want the room of another disk in its place, got %+v", got)
	}
	if steady(nil, old) != nil {
		t.Error("want that nobody said, and not that there are none")
	}
}
