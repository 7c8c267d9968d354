package agent_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/agent"
	"llmgw.io/llmgw/agent/agenttest"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// quiet is an agent in a bubble: no process, the documented times.
func quiet(t *testing.T, c *agenttest.Control, p *agenttest.Prober) {
	t.Helper()
	a, err := agent.New(agent.Config{
		Node: "n1", Control: c, Prober: p, Engines: []agent.Engine{&agenttest.Engine{}},
		DataDir: t.TempDir(), MgmtAddr: "127.0.0.1", CgroupParent: "none",
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestBeatsGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var beats []protocol.Beat
		hang := make(chan struct{})
		c := &agenttest.Control{BeatFunc: func(_ context.Context, b protocol.Beat) (protocol.BeatAnswer, error) {
			mu.Lock()
			defer mu.Unlock()
			beats = append(beats, b)
			return protocol.BeatAnswer{SeenSeq: b.Seq}, nil
		}}
		p := &agenttest.Prober{
			FactsFunc: func(ctx context.Context) inventory.Facts {
				select { // a driver that hangs
				case <-ctx.Done():
				case <-hang:
				}
				return inventory.Facts{}
			},
		}
		quiet(t, c, p)
		time.Sleep(61 * time.Second)
		mu.Lock()
		n, last := len(beats), beats[len(beats)-1]
		mu.Unlock()
		if n != 13 || last.Seq != 13 || last.FactsHash != "" {
			t.Errorf("%d beats in a minute, the last %+v; want 13 without facts", n, last)
		}
		close(hang)
	})
}

func TestSamplesRideInSomeBeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		with, all := 0, 0
		c := &agenttest.Control{BeatFunc: func(_ context.Context, b protocol.Beat) (protocol.BeatAnswer, error) {
			mu.Lock()
			defer mu.Unlock()
			if all++; b.Sample != nil {
				with++
			}
			return protocol.BeatAnswer{}, nil
		}}
		quiet(t, c, &agenttest.Prober{})
		time.Sleep(61 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		if all != 13 || with < 4 || with > 5 {
			t.Errorf("%d of %d beats had a sample, want one each 15 s", with, all)
		}
	})
}

func TestFactsAreSentWhenWanted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		want := protocol.WantNothing
		var at []time.Time
		c := &agenttest.Control{
			BeatFunc: func(context.Context, protocol.Beat) (protocol.BeatAnswer, error) {
				mu.Lock()
				defer mu.Unlock()
				w := want
				want = protocol.WantNothing
				return protocol.BeatAnswer{Want: w}, nil
			},
			SyncFunc: func(ctx context.Context, s protocol.Sync) (protocol.Desired, error) {
				mu.Lock()
				if s.Facts != nil {
					at = append(at, time.Now())
				}
				mu.Unlock()
				select {
				case <-ctx.Done():
					return protocol.Desired{}, ctx.Err()
				case <-time.After(protocol.PollAfter):
					return protocol.Desired{}, nil
				}
			},
		}
		begun := time.Now()
		quiet(t, c, &agenttest.Prober{})
		time.Sleep(31 * time.Second)
		mu.Lock()
		want = protocol.WantFacts
		mu.Unlock()
		time.Sleep(5 * time.Second)
		mu.Lock()
		n, second := len(at), at[len(at)-1].Sub(begun)
		mu.Unlock()
		if n != 2 || second > 36*time.Second {
			t.Errorf("facts were sent %d times, last after %s; want at the start and when wanted", n, second)
		}
		time.Sleep(10 * time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if got := len(at); got < 8 || got > 13 {
			t.Errorf("facts were sent %d times in ten minutes, want about one a minute", got)
		}
	})
}

// Facts that change again while a poll carries the ones before go with the next poll,
// soon, and not when that one is answered: an engine that was just installed is what a
// model waits for.
func TestNewerFactsDoNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var got []string
		var at []time.Time
		c := &agenttest.Control{
			SyncFunc: func(ctx context.Context, s protocol.Sync) (protocol.Desired, error) {
				mu.Lock()
				if s.Facts != nil {
					got, at = append(got, s.Facts.OS), append(at, time.Now())
				}
				mu.Unlock()
				select {
				case <-time.After(protocol.PollAfter):
				case <-ctx.Done():
					return protocol.Desired{}, ctx.Err()
				}
				return protocol.Desired{Epoch: 1, Version: 1}, nil
			},
		}
		system := "one"
		p := &agenttest.Prober{FactsFunc: func(context.Context) inventory.Facts {
			mu.Lock()
			defer mu.Unlock()
			return inventory.Facts{OS: system}
		}}
		a, err := agent.New(agent.Config{
			Node: "n1", Control: c, Prober: p, Engines: []agent.Engine{&agenttest.Engine{}},
			DataDir: t.TempDir(), MgmtAddr: "127.0.0.1", CgroupParent: "none",
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		change := func(to string) {
			mu.Lock()
			system = to
			mu.Unlock()
			a.Look()
			synctest.Wait()
		}
		synctest.Wait()
		began := time.Now()
		change("two") // while the poll with the first is open, and young
		time.Sleep(10 * time.Second)
		change("three")
		a.Look() // with nothing new
		time.Sleep(10 * time.Second)
		mu.Lock()
		if want := []string{"one", "two", "three"}; !slices.Equal(got, want) || at[1].Sub(began) > 2*time.Second || at[2].Sub(began) > 12*time.Second {
			t.Errorf("want %q, each soon, got %q at %v", want, got, at)
		}
		mu.Unlock()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestPollBacksOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		polls := 0
		c := &agenttest.Control{SyncFunc: func(context.Context, protocol.Sync) (protocol.Desired, error) {
			mu.Lock()
			defer mu.Unlock()
			polls++
			return protocol.Desired{}, errors.New("connection refused")
		}}
		quiet(t, c, &agenttest.Prober{})
		time.Sleep(10 * time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if polls < 15 || polls > 35 {
			t.Errorf("%d polls in ten minutes of silence, want about one each 30 s", polls)
		}
	})
}

func TestOlderLeaderIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		have := []int64{}
		answers := []protocol.Desired{{Epoch: 7, Version: 1}, {Epoch: 6, Version: 9}, {Epoch: 8, Version: 1}}
		c := &agenttest.Control{SyncFunc: func(ctx context.Context, s protocol.Sync) (protocol.Desired, error) {
			mu.Lock()
			have = append(have, s.Epoch)
			n := len(have)
			mu.Unlock()
			if n > len(answers) {
				<-ctx.Done()
				return protocol.Desired{}, ctx.Err()
			}
			return answers[n-1], nil
		}}
		quiet(t, c, &agenttest.Prober{})
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if len(have) < 4 || have[1] != 7 || have[2] != 7 || have[3] != 8 {
			t.Errorf("the agent worked to the epochs %v, want 0 7 7 8", have)
		}
	})
}

func TestAsksAreAnsweredOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		got := map[string]string{}
		polls, count := 0, 0
		c := &agenttest.Control{
			SyncFunc: func(ctx context.Context, _ protocol.Sync) (protocol.Desired, error) {
				mu.Lock()
				polls++
				n := polls
				mu.Unlock()
				if n > 3 {
					<-ctx.Done()
					return protocol.Desired{}, ctx.Err()
				}
				return protocol.Desired{Asks: []protocol.Ask{{ID: "a", Kind: "dance"}, {ID: "b", Kind: protocol.AskLogs}}}, nil
			},
			AnswerFunc: func(_ context.Context, a protocol.Answer, _ io.Reader) error {
				mu.Lock()
				defer mu.Unlock()
				got[a.ID] = a.Error
				count++
				return nil
			},
		}
		quiet(t, c, &agenttest.Prober{})
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if count != 2 || got["a"] == "" || got["b"] == "" {
			t.Errorf("got %d answers: %q; want each refused once, with why", count, got)
		}
	})
}

func TestNewComplainsOfEverything(t *testing.T) {
	t.Parallel()
	_, err := agent.New(agent.Config{EngineAccess: "open", PortMin: 5, PortMax: 4})
	for _, want := range []string{"Config.Node", "Config.Control", "Config.Prober", "Config.Engines", "Config.DataDir", "EngineAccess", "ports"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}

// News that were on their way when the agent was told to end reach the control
// plane all the same: the engines go on, and nobody else would bring them.
func TestLastNewsAreBrought(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var brought []protocol.Beat
		ctx, end := context.WithCancel(t.Context())
		c := &agenttest.Control{
			BeatFunc: func(beating context.Context, b protocol.Beat) (protocol.BeatAnswer, error) {
				if len(b.Shards) > 0 && ctx.Err() == nil {
					end() // the agent is told to end while this beat is on its way
					<-beating.Done()
					return protocol.BeatAnswer{}, beating.Err()
				}
				mu.Lock()
				defer mu.Unlock()
				if len(b.Shards) > 0 {
					brought = append(brought, b)
				}
				return protocol.BeatAnswer{SeenSeq: b.Seq}, nil
			},
			SyncFunc: func(polling context.Context, s protocol.Sync) (protocol.Desired, error) {
				if s.Version > 0 {
					<-polling.Done()
					return protocol.Desired{}, polling.Err()
				}
				return protocol.Desired{Epoch: 1, Version: 1, Shards: []protocol.DesiredShard{{Shard: "m-1.0", Replica: "m-1", Want: protocol.WantRun, Engine: "nobody's"}}}, nil
			},
		}
		a, err := agent.New(agent.Config{
			Node: "n1", Control: c, Prober: &agenttest.Prober{}, Engines: []agent.Engine{&agenttest.Engine{}},
			DataDir: t.TempDir(), MgmtAddr: "127.0.0.1", CgroupParent: "none",
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if len(brought) != 1 || brought[0].Shards[0].ID != "m-1.0" {
			t.Errorf("the news came as %+v", brought)
		}
	})
}
