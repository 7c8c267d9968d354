package archtest

// pureRooms are the packages that decide: time, chance, configuration and the
// world come in as arguments. The files excepted are the machines that stand
// in the same room as their nouns.
func pureRooms() []pureRoom {
	return []pureRoom{
		{room: "catalog", except: []string{"inspector.go", "service.go", "store.go"}},
		{room: "inventory", except: []string{"registry.go", "orders.go", "holds.go", "labels.go", "store.go"}},
		{room: "inventory/fabrics"},
		{room: "inventory/facility"},
		{room: "inventory/topology"},
		{room: "inventory/nvlink"},
		{room: "placement"},
		{room: "placement/fix"},
		{room: "placement/reconciler"},
		{room: "placement/dryrun"},
		{room: "placement/replay"},
		// What the inventory keeps it keeps with a context, so the file that calls it has one.
		{room: "placement/fleetsim", except: []string{"registry.go"}},
		{room: "router/openai"},
		{room: "router/outlier"},
		{room: "router/steer"},
		{room: "adminapi/view"},
		{room: "internal/release"},
	}
}

// pureFiles are single pure files in rooms that are not.
func pureFiles() []string {
	return []string{
		"agent/gate/allow.go", "router/pick.go",
		"agent/discovery/gpu/class.go", "agent/discovery/gpu/devices.go", "agent/discovery/gpu/fabric.go",
		"agent/discovery/gpu/health.go", "agent/discovery/gpu/trouble.go",
	}
}

// impureImports are packages that reach the world, wait, or hide state. A
// pattern covers what is under it.
func impureImports() []string {
	return []string{
		"context", "crypto/rand", "database/sql/...", "io/fs", "log/...", "math/rand", "net", "net/http/...", "net/rpc/...",
		"net/smtp", "net/textproto", "os/...", "runtime/...", "sync/...", "syscall/...", "testing/...", "unsafe",
	}
}

// impureCalls are functions of packages that are otherwise welcome.
func impureCalls() map[string][]string {
	return map[string][]string{
		"time": {"Now", "Since", "Until", "After", "AfterFunc", "Tick", "Sleep", "NewTimer", "NewTicker"},
		// All that draw from the source that the whole process shares.
		"math/rand/v2": {
			"ExpFloat64", "Float32", "Float64", "Int", "Int32", "Int32N", "Int64", "Int64N", "IntN", "N", "NormFloat64",
			"Perm", "Shuffle", "Uint", "Uint32", "Uint32N", "Uint64", "Uint64N", "UintN",
		},
	}
}

// tableMakers are the calls whose result may stand in a package-level variable:
// what they give does not change.
func tableMakers() []string {
	return []string{"errors.New", "fmt.Errorf", "regexp.MustCompile", "strings.NewReplacer", "big.NewInt", "netip.MustParsePrefix"}
}
