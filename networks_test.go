package llmgw

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// TestNetworks goes from what two ports say to a report on their network, a map
// of it that an agent made, and the change of its subnet manager.
func TestNetworks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := plane(t, func(c *Config) {
			c.InsecureAdmin = true
			c.Settings.Fabrics = []inventory.FabricRule{{Name: "ib0", Match: "hca=mlx5_*"}}
		})
		defer runs(t, c)()
		say := func(guid string) {
			for _, id := range []inventory.NodeID{"a1", "a2"} {
				facts := &inventory.Facts{Features: []string{string(protocol.AskScan)}, Ports: []inventory.Port{{
					HCA: "mlx5_0", Port: 1, State: "ACTIVE", Active: true, Physical: inventory.KeySM + guid, NodeGUID: "b83fd2030011111" + string(id[1:]),
				}}}
				if _, err := c.hub.Sync(t.Context(), id, protocol.Sync{Node: string(id), Facts: facts}); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(6 * time.Second)
			synctest.Wait()
		}
		call := func(method, path string, out any) (status int, body string) {
			w := httptest.NewRecorder()
			c.Admin().ServeHTTP(w, fromHere(httptest.NewRequest(method, "http://127.0.0.1/api/v1/"+path, nil)))
			_ = json.Unmarshal(w.Body.Bytes(), out)
			return w.Code, w.Body.String()
		}
		time.Sleep(time.Second) // until the loop has told the hub what is desired
		say("00000000000000aa")
		var report view.FabricReport
		if _, body := call(http.MethodGet, "fabrics", &report); len(report.Physical) != 1 || report.Physical[0].Nodes != 2 || report.Physical[0].Declared[0] != "ib0" {
			t.Fatalf("want one network of two nodes, got %s", body)
		}
		// answer is the agent of a1, once it is asked.
		answer := func(res protocol.ScanResult) {
			d, err := c.hub.Sync(t.Context(), "a1", protocol.Sync{Node: "a1"})
			if err != nil || len(d.Asks) != 1 || d.Asks[0].Kind != protocol.AskScan || string(d.Asks[0].Args) != `{"hca":"mlx5_0","port":1}` {
				t.Errorf("want a1 asked for a map, got %+v, %v", d.Asks, err)
				return
			}
			data, _ := json.Marshal(res)
			if err := c.hub.Answer(t.Context(), "a1", protocol.Answer{ID: d.Asks[0].ID, OK: true, Result: data}, nil); err != nil {
				t.Error(err)
			}
		}
		order := func(res protocol.ScanResult) (status int, top view.Topology, body string) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				status, body = call(http.MethodPost, "fabrics/sm-00000000000000aa/scan", &top)
			}()
			synctest.Wait()
			answer(res)
			<-done
			return status, top, body
		}
		status, top, body := order(protocol.ScanResult{Text: backToBack, TookMS: 12})
		if status != http.StatusOK || top.Map == nil || len(top.Map.Hosts) != 2 || top.Live["b83fd20300111111"].Node != "a1" || top.ScannedBy != "a1 mlx5_0/1" {
			t.Errorf("want the map with what both do, got %d %s", status, body)
		}
		say("00000000000000bb")
		if call(http.MethodGet, "fabrics", &report); len(report.SMChanges) != 1 || report.SMChanges[0].Fabric != "ib0" {
			t.Errorf("want the change of the manager, got %+v", report.SMChanges)
		}
		if status, body := call(http.MethodGet, "fabrics/sm-00000000000000aa/topology", &top); status != http.StatusOK || top.ID != "sm-00000000000000bb" || top.Map == nil {
			t.Errorf("want the map under the new manager, by the old id too, got %d %s", status, body)
		}
	})
}

// A walk that fails is the agent's failure, in its words.
func TestNetworksThatCannotBeWalked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := plane(t, func(c *Config) { c.InsecureAdmin = true })
		defer runs(t, c)()
		c.registry.Apply("a1", inventory.Report{At: time.Now(), Facts: &inventory.Facts{
			Features: []string{string(protocol.AskScan)},
			Ports:    []inventory.Port{{HCA: "mlx5_0", Port: 1, Active: true, Physical: "sm:00000000000000aa"}},
		}}, time.Now())
		w := httptest.NewRecorder()
		c.Admin().ServeHTTP(w, fromHere(httptest.NewRequest(http.MethodPost, "http://127.0.0.1/api/v1/fabrics/sm-00000000000000aa/scan", nil)))
		if w.Code != http.StatusBadGateway || !strings.Contains(w.Body.String(), "agent_failed") || !strings.Contains(w.Body.String(), "a1") {
			t.Errorf("want it said that a1 is away, got %d %s", w.Code, w.Body)
		}
	})
}

const backToBack = `vendid=0x2c9
devid=0x101b
sysimgguid=0xb83fd20300111111
caguid=0xb83fd20300111111
Ca	1 "H-b83fd20300111111"		# "a1 mlx5_0"
[1](b83fd20300111111) 	"H-b83fd20300111112"[1] (b83fd20300111112) 		# lid 1 lmc 0 "a2 mlx5_0" lid 2 4xHDR
`
