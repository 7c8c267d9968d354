package agent

import (
	"strings"
	"testing"

	"llmgw.io/llmgw/inventory"
)

func TestLacksMemory(t *testing.T) {
	t.Parallel()
	devices := []inventory.Device{
		{Index: 0, MemoryMB: 24576}, {Index: 1, MemoryMB: 24576, ForeignMB: 8000}, {Index: 2}, {Index: 3, MemoryMB: 81559}, {Index: 4, MemoryMB: 9728},
	}
	tests := map[string]struct {
		share inventory.DeviceShare
		used  map[int]int64
		lacks string // empty: nothing
	}{
		"free":                        {inventory.DeviceShare{Index: 0}, map[int]int64{0: 3}, ""},
		"what the driver keeps":       {inventory.DeviceShare{Index: 0}, map[int]int64{0: 650}, ""},
		"left by the dead":            {inventory.DeviceShare{Index: 0}, map[int]int64{0: 20000}, "device 0 has 20000 of 24576 MiB in use, and the shard was given 24576"},
		"another's, known":            {inventory.DeviceShare{Index: 1}, map[int]int64{1: 8000}, ""},
		"another's, and the dead's":   {inventory.DeviceShare{Index: 1}, map[int]int64{1: 20000}, "was given 16576"},
		"a share beside another":      {inventory.DeviceShare{Index: 3, MemoryMB: 40960}, map[int]int64{3: 41500}, ""},
		"a share that is not free":    {inventory.DeviceShare{Index: 3, MemoryMB: 40960}, map[int]int64{3: 60000}, "was given 40960"},
		"a small instance":            {inventory.DeviceShare{Index: 4}, map[int]int64{4: 2000}, "device 4"},
		"its memory is unknown":       {inventory.DeviceShare{Index: 2}, map[int]int64{2: 20000}, ""},
		"nothing is said":             {inventory.DeviceShare{Index: 0}, map[int]int64{1: 20000}, ""},
		"nothing is known of devices": {inventory.DeviceShare{Index: 9}, map[int]int64{9: 20000}, ""},
	}
	for name, tt := range tests {
		got := lacksMemory([]inventory.DeviceShare{{Index: 2}, tt.share}, devices, tt.used)
		if (got == "") != (tt.lacks == "") || !strings.Contains(got, tt.lacks) {
			t.Errorf("%s: got %q, want %q", name, got, tt.lacks)
		}
	}
}
