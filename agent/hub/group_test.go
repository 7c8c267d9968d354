package hub_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"llmgw.io/llmgw/agent/hub"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// ib is an active port on an InfiniBand fabric, and rail one on a network of
// Ethernet that was declared.
func ib(hca, sm string) inventory.Port {
	return inventory.Port{HCA: hca, Port: 1, Active: true, Physical: "sm:" + sm}
}

func rail(hca, network string) inventory.Port {
	return inventory.Port{HCA: hca, Port: 1, Active: true, Physical: "roce:" + network, Fabric: "rails"}
}

func TestShardsOfAGroupAreToldHowToFindEachOther(t *testing.T) {
	t.Parallel()
	down := ib("mlx5_9", "a1")
	down.Active = false
	for _, c := range []struct {
		name, wanted string
		n1, n2       []inventory.Port
		want1, want2 []string
	}{
		{"one fabric", "any", []inventory.Port{ib("mlx5_1", "a1"), ib("mlx5_0", "a1"), down}, []inventory.Port{ib("mlx5_4", "a1")}, []string{"mlx5_0:1", "mlx5_1:1"}, []string{"mlx5_4:1"}},
		{"nothing asked for, one shared", "", []inventory.Port{ib("mlx5_0", "a1"), ib("mlx5_1", "b2")}, []inventory.Port{ib("mlx5_0", "b2")}, []string{"mlx5_1:1"}, []string{"mlx5_0:1"}},
		{"none shared", "", []inventory.Port{ib("mlx5_0", "a1")}, []inventory.Port{ib("mlx5_0", "b2")}, nil, nil},
		{"nothing said", "", nil, []inventory.Port{ib("mlx5_0", "b2")}, nil, nil},
		{
			"two shared: the one with more ports where it has the fewest", "any",
			[]inventory.Port{ib("mlx5_0", "a1"), ib("mlx5_1", "b2"), ib("mlx5_2", "b2")},
			[]inventory.Port{ib("mlx5_0", "a1"), ib("mlx5_1", "a1"), ib("mlx5_2", "a1"), ib("mlx5_3", "b2"), ib("mlx5_4", "b2")},
			[]string{"mlx5_1:1", "mlx5_2:1"},
			[]string{"mlx5_3:1", "mlx5_4:1"},
		},
		{
			"rails of one name are one fabric", "rails",
			[]inventory.Port{rail("mlx5_0", "10.1.0.0/24"), rail("mlx5_1", "10.1.1.0/24"), ib("mlx5_2", "a1")},
			[]inventory.Port{rail("mlx5_0", "10.1.0.0/24"), rail("mlx5_1", "10.1.1.0/24"), ib("mlx5_2", "a1")},
			[]string{"mlx5_0:1", "mlx5_1:1"},
			[]string{"mlx5_0:1", "mlx5_1:1"},
		},
		{"another name", "ib-a", []inventory.Port{rail("mlx5_0", "10.1.0.0/24")}, []inventory.Port{rail("mlx5_0", "10.1.0.0/24")}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, reg := inMemory(t, hub.Config{})
			reg.Apply("n1", inventory.Report{Facts: &inventory.Facts{MgmtAddr: "10.0.0.1", Ports: c.n1}}, time.Now())
			reg.Apply("n2", inventory.Report{Facts: &inventory.Facts{MgmtAddr: "10.0.0.2", Ports: c.n2}}, time.Now())
			r := replica("m-7", reconciler.Run, "n1", "n2")
			r.Profile.Fabric = c.wanted
			if err := h.Dispatch(t.Context(), 1, []reconciler.Replica{r}); err != nil {
				t.Fatal(err)
			}
			for node, want := range map[inventory.NodeID][]string{"n1": c.want1, "n2": c.want2} {
				d, err := h.Sync(t.Context(), node, protocol.Sync{Node: string(node)})
				if err != nil || len(d.Shards) != 1 {
					t.Fatalf("%+v, %v", d, err)
				}
				s := d.Shards[0]
				if s.LeaderAddr != "10.0.0.1" || s.LeaderPort != 19014 || !slices.Equal(s.HCAs, want) {
					t.Errorf("%s: want the leader at 10.0.0.1:19014 over %v, got %s:%d over %v", node, want, s.LeaderAddr, s.LeaderPort, s.HCAs)
				}
			}
		})
	}
}

// Replicas that run at once find each other at ports of their own.
func TestGroupsHavePortsOfTheirOwn(t *testing.T) {
	t.Parallel()
	h, reg := inMemory(t, hub.Config{})
	reg.Apply("n1", inventory.Report{Facts: &inventory.Facts{MgmtAddr: "10.0.0.1"}}, time.Now())
	reg.Apply("n2", inventory.Report{Facts: &inventory.Facts{MgmtAddr: "0.0.0.0"}}, time.Now())
	var all []reconciler.Replica
	for i := range 500 {
		all = append(all, replica(fmt.Sprintf("m-x-%d", 998+i), reconciler.Run, "n1", "n2"))
	}
	all = append(all, replica("m-strange", reconciler.Run, "n2", "n1"), replica("m-1500", reconciler.Run, "n1"))
	if err := h.Dispatch(t.Context(), 1, all); err != nil {
		t.Fatal(err)
	}
	d, err := h.Sync(t.Context(), "n1", protocol.Sync{Node: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]string{}
	for _, s := range d.Shards {
		switch s.Replica {
		case "m-strange":
			if s.LeaderAddr != "" || s.LeaderPort != 19000 {
				t.Errorf("a leader at no address: got %q and port %d", s.LeaderAddr, s.LeaderPort)
			}
		case "m-1500":
			if s.LeaderAddr != "" || s.LeaderPort != 0 {
				t.Errorf("one shard has nobody to find, got %q and port %d", s.LeaderAddr, s.LeaderPort)
			}
		default:
			if s.LeaderPort < 19000 || s.LeaderPort > 19998 || s.LeaderPort%2 != 0 || seen[s.LeaderPort] != "" {
				t.Errorf("replica %s has port %d, and so has %q", s.Replica, s.LeaderPort, seen[s.LeaderPort])
			}
			seen[s.LeaderPort] = s.Replica
		}
	}
}
