package llmgw

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// TestClassAliases shows that a profile and a node that know a class by other
// names come together, and that answers name the class.
func TestClassAliases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := plane(t, func(c *Config) {
			c.InsecureAdmin = true
			c.Settings.ClassAliases = inventory.ClassAliases{"h100": "H100-80", "H100-94": "H100-80"}
		})
		defer runs(t, c)()
		m := tiny(1)
		m.Profiles[0].GPU = &catalog.GPU{Class: "h100", Count: 1}
		if _, err := c.Catalog().Add(t.Context(), m, tester); err != nil {
			t.Fatal(err)
		}
		beat := func(class inventory.Class) {
			c.registry.Apply("a1", inventory.Report{Whole: true, At: time.Now(), Facts: &inventory.Facts{
				MemoryMB: 16 << 10, CPUs: 4, Engines: []inventory.Engine{{Name: "llamacpp"}},
				Devices: []inventory.Device{{Label: "0", Class: class, MemoryMB: 80 << 10, NUMA: -1}},
			}}, time.Now())
			time.Sleep(time.Second)
			synctest.Wait()
		}
		get := func(path string) string {
			w := httptest.NewRecorder()
			c.Admin().ServeHTTP(w, fromHere(httptest.NewRequest(http.MethodGet, "http://127.0.0.1/api/v1/"+path, nil)))
			return w.Body.String()
		}
		beat("L4-24")
		if body := get("explain-placement?model=tiny"); !strings.Contains(body, "H100-80") || strings.Contains(body, "h100") {
			t.Errorf("want the class in the explanation, got %s", body)
		}
		beat("H100-94")
		if n := len(c.loop.View().Replicas); n != 1 {
			t.Errorf("want a replica on the device, got %d", n)
		}
		if body := get("nodes"); !strings.Contains(body, `"H100-80"`) || strings.Contains(body, "H100-94") {
			t.Errorf("want the class in the node's view, got %s", body)
		}
	})
}
