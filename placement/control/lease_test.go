package control_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/control"
	"llmgw.io/llmgw/storage/memstore"
)

// A process that ends gives its lease up, so that the next one need not wait.
func TestLeaseIsHandedOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, m := newStore(), newModels(model("tiny", 1))
		one := start(t, "one", s, m, twoNodes, nil, nil)
		two := start(t, "two", s, m, twoNodes, nil, nil)
		defer two.stop()
		after(time.Second)
		one.stop()
		after(2 * time.Second)
		if got := two.loop.View(); got.Epoch != 2 || !cmp.Equal(viewIDs(got), ids{"tiny-1"}) {
			t.Errorf("want the second to lead with what is there, got epoch %d, %v", got.Epoch, viewIDs(got))
		}
	})
}

// The project's own store in memory keeps the same promises.
func TestOnMemstore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, m := memstore.New(), newModels(model("tiny", 2))
		one := start(t, "one", s, m, twoNodes, nil, nil)
		after(time.Second)
		one.say("a1", "tiny-1.0", inventory.ShardReady)
		after(time.Second)
		want := one.loop.View().Replicas
		one.stop()
		two := start(t, "two", s, m, twoNodes, nil, nil)
		defer two.stop()
		after(time.Second)
		if diff := cmp.Diff(want, two.loop.View().Replicas); diff != "" {
			t.Errorf("want the successor to find all as it was (-want +got):\n%s", diff)
		}
	})
}

// A renewal that fails is no loss: nobody else has the lease, so the one who
// leads goes on, and renews once the store is back.
func TestRenewalIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, m := newStore(), newModels(model("tiny", 1))
		var led notes
		r := start(t, "one", s, m, twoNodes, nil, func(c *control.Config) {
			c.Events.Led = func(epoch int64, leading bool) { led.add("%d %t", epoch, leading) }
		})
		defer r.stop()
		s.set(func() {
			s.fail = func(method string) error {
				if strings.HasPrefix(method, "renew") {
					return errAway
				}
				return nil
			}
		})
		after(2 * time.Minute)
		s.set(func() { s.fail = nil })
		m.set(model("tiny", 2))
		after(10 * time.Second)
		if got := led.all(); !cmp.Equal(got, []string{"1 true"}) {
			t.Errorf("want it to lead throughout, got %v", got)
		}
		if got := s.ids(); !cmp.Equal(got, []string{"tiny-1", "tiny-2"}) {
			t.Errorf("want both placed, got %v", got)
		}
		s.set(func() {
			if !time.Now().Before(s.lease.ExpiresAt) {
				t.Error("want the lease renewed")
			}
		})
	})
}

// A process that comes back under its old name fences its former self.
func TestSameNameTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, m := newStore(), newModels(model("tiny", 1))
		former := start(t, "one", s, m, twoNodes, nil, nil)
		after(time.Second)
		var stopped notes
		next := start(t, "one", s, newModels(model("tiny", 2)), twoNodes, nil, func(c *control.Config) {
			c.Events.Led = func(epoch int64, leading bool) { stopped.add("%d %t", epoch, leading) }
		})
		defer next.stop()
		former.cancel()
		<-former.done
		after(time.Second)
		if v := next.loop.View(); v.Epoch != 2 || len(v.Replicas) != 2 {
			t.Errorf("want the later one to lead at epoch 2, got %d with %v", v.Epoch, viewIDs(v))
		}
		if got := stopped.all(); !cmp.Equal(got, []string{"2 true"}) {
			t.Errorf("want the later one untouched by the former's end, got %v", got)
		}
	})
}
