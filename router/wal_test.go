package router

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/storage"
)

// books is a store that can be away. routertest has one too, but imports us.
type books struct {
	mu    sync.Mutex
	rows  map[string]storage.Request
	calls int
	away  bool
	// refuse is the id of a row that is refused with all that come with it.
	refuse string
}

func (b *books) AppendUsage(_ context.Context, rows []storage.Request) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	if b.away {
		return errors.New("the store is away")
	}
	if slices.ContainsFunc(rows, func(r storage.Request) bool { return b.refuse != "" && r.ID == b.refuse }) {
		return fmt.Errorf("a row is wrong: %w", storage.ErrInvalid)
	}
	if b.rows == nil {
		b.rows = map[string]storage.Request{}
	}
	for _, r := range rows {
		b.rows[r.ID] = r
	}
	return nil
}

func (b *books) set(away bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.away = away
}

func (b *books) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.rows)
}

func fullRow(id string) storage.Request {
	return storage.Request{
		ID: id, At: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), KeyID: "k", UserID: "u\"\\\n", ProjectID: "p", Model: "m\x01é世",
		ServedModel: "s", Replica: "r", Endpoint: "chat", Stream: true, Status: 200, Outcome: storage.OutcomeOK, Latency: 5, Queued: 6,
		FirstByte: 7, PromptTokens: 1 << 40, CachedTokens: 9, CompletionTokens: 10, Estimated: true, CostMicros: -1,
		Attempts: []storage.Attempt{{Replica: "a", Model: "n", Status: 503, Error: "e"}, {Replica: "b"}}, EndUser: "<x>",
		Tags: map[string]string{"t": "v"},
	}
}

func TestRowIsTheJSONOfItsType(t *testing.T) {
	t.Parallel()
	full := fullRow("x")
	for _, v := range []reflect.Value{reflect.ValueOf(full), reflect.ValueOf(full.Attempts[0])} {
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Errorf("fullRow leaves out %s.%s, so nothing shows that it is written", v.Type(), v.Type().Field(i).Name)
			}
		}
	}
	for _, want := range []storage.Request{fullRow("x"), {ID: "y"}} {
		var got storage.Request
		if err := json.Unmarshal(appendRow(nil, &want), &got); err != nil {
			t.Fatalf("%s: %v", appendRow(nil, &want), err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		if std, _ := json.Marshal(want); len(std) == 0 || !sameKeys(t, std, appendRow(nil, &want)) {
			t.Errorf("the members differ:\n%s\n%s", std, appendRow(nil, &want))
		}
	}
}

func sameKeys(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y map[string]any
	if err := errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y)); err != nil {
		t.Fatal(err)
	}
	return cmp.Equal(x, y)
}

// Wherever the last write was cut, what stood before it is read, and nothing
// that is not a row.
func TestTornSegments(t *testing.T) {
	t.Parallel()
	var b []byte
	var ends []int
	for i := range 3 {
		row := fullRow(fmt.Sprint(i))
		b = appendFrame(b, &row)
		ends = append(ends, len(b))
	}
	for cut := range len(b) + 1 {
		want := 0
		for _, end := range ends {
			if cut >= end {
				want++
			}
		}
		rows, torn := readFrames(b[:cut])
		whole := cut == 0 || bytes.Contains(fmt.Appendf(nil, " %d ", ends), fmt.Appendf(nil, "%d", cut)) && (cut == ends[0] || cut == ends[1] || cut == ends[2])
		if len(rows) != want || torn == whole {
			t.Fatalf("cut at %d: %d rows, torn %v", cut, len(rows), torn)
		}
	}
	for at := range len(b) {
		flipped := bytes.Clone(b)
		flipped[at] ^= 0x10
		rows, torn := readFrames(flipped)
		for i, r := range rows {
			if d := cmp.Diff(fullRow(fmt.Sprint(i)), r); d != "" {
				t.Fatalf("with byte %d flipped a row is another:\n%s", at, d)
			}
		}
		if !torn {
			t.Fatalf("with byte %d flipped nobody noticed", at)
		}
	}
}

func openLedger(t *testing.T, dir string, store *books, limit int64) *ledger {
	t.Helper()
	c := Config{Usage: store, Dir: dir, Limits: Limits{Unshipped: limit}}.withDefaults()
	l, err := newLedger(&c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func files(t *testing.T, dir string) (n int, size int64) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	return len(names), size
}

func runLedger(t *testing.T, l *ledger) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { l.run(ctx); close(done) }()
	return func() { cancel(); <-done }
}

// Rows reach the store in batches, and their file is gone then.
func TestLedgerShips(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir, store := t.TempDir(), &books{}
		l := openLedger(t, dir, store, 0)
		stop := runLedger(t, l)
		for i := range 2500 {
			row := fullRow(fmt.Sprint(i))
			l.record(&row)
		}
		<-time.After(time.Second)
		if n, _ := files(t, dir); store.count() != 2500 || n != 0 {
			t.Errorf("the store has %d rows and the folder %d files", store.count(), n)
		}
		stop()
		if store.calls > 6 {
			t.Errorf("the store was called %d times", store.calls)
		}
	})
}

// A row that the store refuses for what it is holds up no other: it is put aside,
// where people find it.
func TestLedgerPutsRefusedRowsAside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir, store := t.TempDir(), &books{refuse: "13"}
		l := openLedger(t, dir, store, 0)
		stop := runLedger(t, l)
		for i := range 100 {
			row := fullRow(fmt.Sprint(i))
			l.record(&row)
		}
		<-time.After(time.Second)
		stop()
		if store.count() != 99 {
			t.Errorf("the store has %d rows", store.count())
		}
		b, err := os.ReadFile(filepath.Join(dir, refusedName))
		if err != nil || strings.Count(string(b), "\n") != 1 || !strings.Contains(string(b), `"request_id":"13"`) {
			t.Errorf("put aside is %q, %v", b, err)
		}
	})
}

// While the store is away rows wait on disk, and nothing is lost when it comes
// back, also to another process.
func TestLedgerWaitsForTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir, store := t.TempDir(), &books{away: true}
		l := openLedger(t, dir, store, 0)
		stop := runLedger(t, l)
		const rows = rowsInMemory + 2500 // more than memory holds
		for i := range rows {
			row := fullRow(fmt.Sprint(i))
			l.record(&row)
			if i%2500 == 0 {
				<-time.After(time.Minute)
			}
		}
		stop()
		if l.held > rowsInMemory+segmentBytes/300 || l.lost != 0 {
			t.Errorf("%d rows are in memory and %d lost", l.held, l.lost)
		}
		store.set(false)
		stop = runLedger(t, openLedger(t, dir, store, 0))
		<-time.After(time.Minute)
		stop()
		if n, _ := files(t, dir); store.count() != rows || n != 0 {
			t.Errorf("the store has %d of %d rows, and the folder %d files", store.count(), rows, n)
		}
	})
}

// What waits on disk and in memory is bounded, and what is lost is counted.
func TestLedgerIsBounded(t *testing.T) {
	t.Parallel()
	dir, store := t.TempDir(), &books{away: true}
	l := openLedger(t, dir, store, 64<<10)
	for i := range rowsInMemory + 100 {
		row := fullRow(fmt.Sprint(i))
		l.record(&row)
	}
	if _, size := files(t, dir); size > 65<<10 {
		t.Errorf("%d bytes are on disk", size)
	}
	if l.lost != 100 {
		t.Errorf("%d rows are counted as lost", l.lost)
	}
	store.set(false)
	if err := l.ship(t.Context()); err != nil {
		t.Fatal(err)
	}
	if store.count() != rowsInMemory {
		t.Errorf("the store has %d rows", store.count())
	}
}

// A folder that cannot be written loses no row while the process lives.
func TestLedgerWithoutItsFolder(t *testing.T) {
	t.Parallel()
	dir, store := filepath.Join(t.TempDir(), "wal"), &books{}
	l := openLedger(t, dir, store, 0)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	row := fullRow("x")
	l.record(&row)
	if err := l.ship(t.Context()); err != nil || store.count() != 1 {
		t.Errorf("the store has %d rows: %v", store.count(), err)
	}
}

func TestRecordCostsNoMemory(t *testing.T) {
	store := &books{}
	l := openLedger(t, t.TempDir(), store, 0)
	row := fullRow("x")
	l.record(&row)
	l.active.rows = make([]storage.Request, 0, 1000)
	if n := testing.AllocsPerRun(100, func() { l.record(&row) }); n > 0 {
		t.Errorf("a row costs %v allocations", n)
	}
}
