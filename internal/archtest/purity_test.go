package archtest

import "testing"

func TestPurity(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, body string
		want       []string
	}{
		{name: "plain code", body: `
import (
	"errors"
	"time"
	"math/rand/v2"
	"net/url"
)

var ErrGone = errors.New("p: gone")
var sizes = map[string]int{"a": 1}
var _ error = ErrGone

func later(now time.Time, r *rand.Rand) time.Time {
	sizes := map[string]int{}
	sizes["b"] = r.IntN(3)
	_, _ = url.Parse("")
	return now.Add(time.Second)
}`},
		{name: "an import of the world", body: `import "net/http"`, want: []string{"p/p.go:2: the pure p/p.go must not import net/http"}},
		{name: "an import under one", body: `import "os/exec"`, want: []string{"p/p.go:2: the pure p/p.go must not import os/exec"}},
		{name: "a lock", body: `import "sync"`, want: []string{"p/p.go:2: the pure p/p.go must not import sync"}},
		{
			name: "a clock, under another name", body: "import clock \"time\"\nvar f = func() { clock.Now() }",
			want: []string{"p/p.go:3: the pure p/p.go uses clock.Now"},
		},
		{
			name: "a clock passed on", body: "import \"time\"\nfunc f() func() time.Time { return time.Now }",
			want: []string{"p/p.go:3: the pure p/p.go uses time.Now"},
		},
		{
			name: "the process's dice", body: "import \"math/rand/v2\"\nfunc f() int { return rand.IntN(6) }",
			want: []string{"p/p.go:3: the pure p/p.go uses rand.IntN"},
		},
		{name: "a goroutine", body: "func f() { go f() }", want: []string{"p/p.go:2: the pure p/p.go starts a goroutine"}},
		{name: "a select", body: "func f() { select {} }", want: []string{"p/p.go:2: the pure p/p.go selects"}},
		{name: "a send", body: "func f(c chan int) { c <- 1 }", want: []string{"p/p.go:2: the pure p/p.go sends on a channel"}},
		{
			name: "a variable without a value", body: "var count int",
			want: []string{"p/p.go:2: the pure package-level variable count is neither an error nor a table"},
		},
		{
			name: "a pointer", body: "type s struct{}\nvar one = &s{}",
			want: []string{"p/p.go:3: the pure package-level variable one is neither an error nor a table"},
		},
		{
			name: "a made map", body: "var seen = make(map[string]bool)",
			want: []string{"p/p.go:2: the pure package-level variable seen is neither an error nor a table"},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			check(t, checkPurity(sample(t, "-- p/p.go\n"+c.body), []pureRoom{{room: "p"}}, nil), c.want...)
		})
	}
}

func TestPurityFindsWritesToTables(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"an element":           "table[1] = 2",
		"the whole":            "table = nil",
		"a count":              "table[1]++",
		"a deletion":           "delete(table, 1)",
		"a clearing":           "clear(table)",
		"an address":           "_ = &table",
		"the variable of loop": "for table[1] = range 3 { }",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := sample(t, "-- p/table.go\nvar table = map[int]int{}\n-- p/write.go\nfunc f() { "+body+" }")
			check(t, checkPurity(tr, []pureRoom{{room: "p"}}, nil), "p/write.go:2: the pure package-level table table is written to")
		})
	}
}

func TestPurityExceptsMachinesAndTests(t *testing.T) {
	t.Parallel()
	tr := sample(t, "-- p/p.go\n-- p/service.go\nimport \"sync\"\nvar mu sync.Mutex\n-- p/p_test.go\nimport \"os\"\nvar n int")
	check(t, checkPurity(tr, []pureRoom{{room: "p", except: []string{"service.go"}}}, nil))
}

func TestPurityScansSingleFiles(t *testing.T) {
	t.Parallel()
	tr := sample(t, "-- r/pick.go\nfunc f() { go f() }\n-- r/proxy.go\nfunc g() { go g() }")
	check(t, checkPurity(tr, nil, []string{"r/pick.go"}), "r/pick.go:2: the pure r/pick.go starts a goroutine")
}

func TestPurityFindsThatThereIsNothingToScan(t *testing.T) {
	t.Parallel()
	tr := sample(t, "-- p/p.go\n-- tests/x_test.go")
	const at = "internal/archtest/purity_table.go: "
	check(t, checkPurity(tr, []pureRoom{{room: "gone"}, {room: "tests"}, {room: "p", except: []string{"gone.go"}}}, []string{"r/pick.go"}),
		at+"gone holds no Go file to scan",
		at+"tests holds no Go file to scan",
		at+"p/gone.go holds no Go file to scan",
		at+"r/pick.go holds no Go file to scan")
}

func TestNothingRunsBecauseItIsImported(t *testing.T) {
	t.Parallel()
	tr := sample(t, "-- p/p.go\nfunc init() {}\ntype s struct{}\nfunc (s) init() {}\n-- p/p_test.go\nfunc init() {}")
	check(t, checkInit(tr), "p/p.go:2: p has a function init")
}
