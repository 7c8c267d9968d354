package archtest

import "testing"

func TestWalls(t *testing.T) {
	t.Parallel()
	table := []wall{
		{room: "low"},
		{room: "high", may: []string{"low"}},
		{room: "high/part", may: []string{"low"}},
		{room: "lowtest", may: []string{"low"}},
		{room: root, may: []string{"..."}, never: []string{"high"}, freeTests: true},
		{room: "examples/...", may: []string{root, "low"}},
	}
	const good = `
-- root.go
import _ "llmgw.io/llmgw/low"
-- root_test.go
import _ "llmgw.io/llmgw/high"
-- low/low.go
import _ "fmt"
-- lowtest/lowtest.go
import _ "llmgw.io/llmgw/low"
-- high/high.go
import _ "llmgw.io/llmgw/low"
-- high/part/part.go
-- high/part/part_test.go
import (
	_ "llmgw.io/llmgw/high"
	_ "llmgw.io/llmgw/lowtest"
)
-- examples/one/main.go
import _ "llmgw.io/llmgw"
`
	cases := []struct {
		name, add string
		want      []string
	}{
		{name: "what the table allows"},
		{
			name: "an arrow that goes up", add: "-- low/up.go\nimport _ \"llmgw.io/llmgw/high\"",
			want: []string{"low/up.go:2: low must not import high"},
		},
		{
			name: "a part that imports its parent", add: "-- high/part/up.go\nimport _ \"llmgw.io/llmgw/high\"",
			want: []string{"high/part/up.go:2: high/part must not import high"},
		},
		{
			name: "production code that imports a helper", add: "-- high/h.go\nimport _ \"llmgw.io/llmgw/lowtest\"",
			want: []string{"high/h.go:2: high must not import lowtest"},
		},
		{
			name: "what is taken back", add: "-- more.go\nimport _ \"llmgw.io/llmgw/high\"",
			want: []string{"more.go:2: llmgw (the root) must not import high"},
		},
		{
			name: "a test that leaves its house", add: "-- low/low_test.go\nimport _ \"llmgw.io/llmgw/high\"",
			want: []string{"low/low_test.go:2: low must not import high"},
		},
		{name: "tests of the whole", add: "-- test/whole/w_test.go\nimport _ \"llmgw.io/llmgw/high\""},
		{
			name: "a package without a row", add: "-- stray/s.go",
			want: []string{"stray: package stray has no row in the table of walls"},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			check(t, checkWalls(sample(t, good+c.add), table, []string{"lowtest"}), c.want...)
		})
	}
}

func TestWallsFindRowsThatNameNothing(t *testing.T) {
	t.Parallel()
	tr := sample(t, "-- low/low.go\n-- onlytests/x_test.go")
	table := []wall{{room: "low", may: []string{"gone"}}, {room: "onlytests"}, {room: "examples/..."}}
	const at = "internal/archtest/walls_table.go: "
	check(t, checkWalls(tr, table, nil),
		at+"the row of low allows gone, which has no Go files",
		at+"the row of onlytests names a package that has no Go files",
		at+"the row of examples/... names a package that has no Go files")
}

func TestDoors(t *testing.T) {
	t.Parallel()
	table := []door{
		{module: "example.org/sql", at: []string{"store/..."}},
		{module: "example.org/sql/extra", at: []string{"extra"}},
		{module: "example.org/yaml", at: []string{"config*.go"}},
		{module: "example.org/cmp", tests: true},
	}
	const good = `
-- config_file.go
import _ "example.org/yaml"
-- store/bun/b.go
import _ "example.org/sql/driver"
-- store/bun/b_test.go
import _ "example.org/cmp/cmp"
-- storetest/s.go
import _ "example.org/cmp"
-- extra/e.go
import (
	_ "example.org/sql/extra"
	_ "net/http"
)
`
	cases := []struct {
		name, add string
		want      []string
	}{
		{name: "each at its door"},
		{
			name: "another room", add: "-- router/r.go\nimport _ \"example.org/sql\"",
			want: []string{"router/r.go:2: example.org/sql may not be imported in router"},
		},
		{
			name: "another file of the room", add: "-- main.go\nimport _ \"example.org/yaml\"",
			want: []string{"main.go:2: example.org/yaml may not be imported in llmgw (the root)"},
		},
		{
			name: "the longest path decides", add: "-- store/s.go\nimport _ \"example.org/sql/extra\"",
			want: []string{"store/s.go:2: example.org/sql/extra may not be imported in store"},
		},
		{
			name: "no door at all", add: "-- store/s.go\nimport _ \"example.org/new\"",
			want: []string{"store/s.go:2: example.org/new has no door"},
		},
		{
			name: "a test tool in production", add: "-- store/s.go\nimport _ \"example.org/cmp\"",
			want: []string{"store/s.go:2: example.org/cmp is for tests only"},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			check(t, checkDoors(sample(t, good+c.add), table), c.want...)
		})
	}
}

func TestDoorsFindRoomsThatAreGone(t *testing.T) {
	t.Parallel()
	const at = "internal/archtest/doors_table.go: the door of example.org/sql stands in "
	check(t, checkDoors(sample(t, "-- a/a.go"), []door{{module: "example.org/sql", at: []string{"store", "config*.go"}}}),
		at+"store, which has no Go files", at+"config*.go, which has no Go files")
}
