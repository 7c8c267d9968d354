package survey_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/agent/survey"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/fabrics"
)

// aMap is two adapters, back to back.
const aMap = `vendid=0x2c9
devid=0x101b
sysimgguid=0xb83fd20300111110
caguid=0xb83fd20300111110
Ca	1 "H-b83fd20300111110"		# "a1 mlx5_0"
[1](b83fd20300111110) 	"H-b83fd20300222220"[1] (b83fd20300222220) 		# lid 1 lmc 0 "a2 mlx5_0" lid 2 4xHDR
`

// world is a fleet and its agents.
type world struct {
	mu     sync.Mutex
	nodes  []*inventory.Node
	asked  []string
	answer func(ctx context.Context, node inventory.NodeID) (protocol.ScanResult, error)
}

func (w *world) Snapshot() *inventory.Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	return inventory.NewSnapshot(1, w.nodes)
}

func (w *world) Scan(ctx context.Context, node inventory.NodeID, args protocol.ScanArgs) (protocol.ScanResult, error) {
	w.mu.Lock()
	w.asked = append(w.asked, string(node)+" "+args.HCA)
	answer := w.answer
	w.mu.Unlock()
	return answer(ctx, node)
}

func (w *world) taken() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.asked
	w.asked = nil
	return out
}

// managed sets who manages the fabric that both nodes are on.
func (w *world) managed(guid string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nodes = nil
	for _, id := range []inventory.NodeID{"a1", "a2"} {
		w.nodes = append(w.nodes, &inventory.Node{ID: id, Hearing: inventory.Heard, Facts: inventory.Facts{
			Features: []string{string(protocol.AskScan)},
			Ports:    []inventory.Port{{HCA: "mlx5_0", Port: 1, Active: true, Physical: inventory.KeySM + guid}},
		}})
	}
}

func whole(context.Context, inventory.NodeID) (protocol.ScanResult, error) {
	return protocol.ScanResult{Text: aMap, TookMS: 330}, nil
}

// begin makes a survey that runs until the end of the test's bubble.
func begin(t *testing.T, w *world, leads func() bool) *survey.Survey {
	t.Helper()
	s, err := survey.New(survey.Config{Fleet: w, Asker: w, Leads: leads})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
	return s
}

// settled lets time pass, and what happens in it happen.
func settled(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestAWalkFollowsAChangeOfTheManager(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{answer: whole}
		w.managed("aa")
		s := begin(t, w, nil)
		settled(time.Minute)
		if got := w.taken(); got != nil {
			t.Errorf("nobody ordered a walk, and no manager changed: %v walked", got)
		}
		w.managed("bb")
		settled(6 * time.Second)
		if got := w.taken(); len(got) != 1 {
			t.Errorf("want one node asked after the change, got %v", got)
		}
		scan, ok := s.Newest("sm:bb")
		if !ok || scan.Map == nil || len(scan.Map.Hosts) != 2 || scan.Took != 330*time.Millisecond || scan.By != "a1 mlx5_0/1" {
			t.Errorf("want the map under the new key, got %+v", scan)
		}
		if c := s.Memory().Changes(); len(c) != 1 || c[0].To != "bb" {
			t.Errorf("want one change, got %v", c)
		}
		// Managers that take turns do not have the fabric walked each time, and the
		// map goes with it.
		w.managed("cc")
		settled(6 * time.Second)
		if got := w.taken(); got != nil {
			t.Errorf("want no walk so soon after the last, got %v", got)
		}
		if _, ok := s.Newest("sm:cc"); !ok {
			t.Error("want the map kept under the key that the network has now")
		}
		settled(5 * time.Minute)
		if got := w.taken(); len(got) != 1 {
			t.Errorf("want the walk made up for, got %v", got)
		}
	})
}

func TestWhoDoesNotLeadWalksOnOrderOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{answer: whole}
		w.managed("aa")
		s := begin(t, w, func() bool { return false })
		w.managed("bb")
		settled(10 * time.Minute)
		if got := w.taken(); got != nil {
			t.Errorf("want no walk, got %v", got)
		}
		if scan, err := s.Scan(t.Context(), "sm:bb"); err != nil || scan.Map == nil {
			t.Errorf("%+v, %v", scan, err)
		}
	})
}

// Orders at once are one walk.
func TestOrdersShareAWalk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{answer: func(ctx context.Context, n inventory.NodeID) (protocol.ScanResult, error) {
			time.Sleep(3 * time.Second)
			return whole(ctx, n)
		}}
		w.managed("aa")
		s := begin(t, w, nil)
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if scan, err := s.Scan(t.Context(), "sm:aa"); err != nil || scan.Map == nil {
					t.Errorf("%+v, %v", scan, err)
				}
			})
		}
		all.Wait()
		if got := w.taken(); len(got) != 1 {
			t.Errorf("want one walk, got %v", got)
		}
		settled(31 * time.Second)
		if _, err := s.Scan(t.Context(), "sm:aa"); err != nil || len(w.taken()) != 1 {
			t.Errorf("want a later order to have it walked anew, got %v", err)
		}
	})
}

// A manager that changes during a walk does not lose its map.
func TestTheKeyChangesDuringAWalk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{answer: func(ctx context.Context, n inventory.NodeID) (protocol.ScanResult, error) {
			time.Sleep(20 * time.Second)
			return whole(ctx, n)
		}}
		w.managed("aa")
		s := begin(t, w, nil)
		done := make(chan error, 1)
		go func() {
			_, err := s.Scan(t.Context(), "sm:aa")
			done <- err
		}()
		settled(time.Second)
		w.managed("bb")
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if scan, ok := s.Newest("sm:bb"); !ok || scan.Map == nil {
			t.Error("want the map under the key that the network has now")
		}
	})
}

func TestAWalkThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{answer: whole}
		w.managed("aa")
		s := begin(t, w, nil)
		if _, err := s.Scan(t.Context(), "sm:nobody"); !errors.Is(err, fabrics.ErrNoScanner) {
			t.Errorf("got %v", err)
		}
		if _, err := s.Scan(t.Context(), "sm:aa"); err != nil {
			t.Fatal(err)
		}
		settled(time.Minute)
		w.taken()
		away := errors.New("the agent is away")
		w.answer = func(_ context.Context, n inventory.NodeID) (protocol.ScanResult, error) {
			if n == "a1" {
				return protocol.ScanResult{}, away
			}
			return protocol.ScanResult{Error: "ibnetdiscover: discover failed"}, nil
		}
		_, err := s.Scan(t.Context(), "sm:aa")
		if !errors.Is(err, survey.ErrFailed) || !strings.Contains(err.Error(), "discover failed") {
			t.Errorf("want what the last node said, got %v", err)
		}
		if got := w.taken(); len(got) != 2 {
			t.Errorf("want another node asked where one fails, got %v", got)
		}
		scan, _ := s.Newest("sm:aa")
		if scan.Map == nil || !strings.Contains(scan.Error, "a2 mlx5_0/1") || !strings.Contains(scan.Error, "discover failed") {
			t.Errorf("want the map of before, and why it is not new, got %+v", scan)
		}
		for text, want := range map[string]string{"": "empty", "what?": "no map", aMap[:len(aMap)-20]: ""} {
			w.answer = func(context.Context, inventory.NodeID) (protocol.ScanResult, error) {
				return protocol.ScanResult{Text: text}, nil
			}
			settled(time.Minute)
			scan, err := s.Scan(t.Context(), "sm:aa")
			if want == "" && (err != nil || scan.Map == nil || scan.Error == "") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%q: want %q, got %+v, %v", text, want, scan, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Scan(ctx, "sm:aa"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestNewComplains(t *testing.T) {
	t.Parallel()
	if _, err := survey.New(survey.Config{}); err == nil || !strings.Contains(err.Error(), "Fleet") || !strings.Contains(err.Error(), "Asker") {
		t.Errorf("want both complaints, got %v", err)
	}
}
