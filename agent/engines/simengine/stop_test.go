package simengine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/agent/engines/simengine"
)

// busy is a temper whose answers take 10 seconds.
func busy(s simengine.Shutdown) simengine.Config {
	return simengine.Config{Temper: simengine.Temper{TimeToFirstToken: 5 * second, InterTokenLatency: second, Say: "tok", OutputTokens: 6, Shutdown: s}}
}

func TestStopIdle(t *testing.T) {
	for _, s := range []simengine.Shutdown{simengine.ShutdownAbort, simengine.ShutdownDrain, simengine.ShutdownHang} {
		t.Run(string(s), func(t *testing.T) {
			inWorld(t, busy(s), func(t *testing.T, w *world) {
				w.post(chatPath, chatBody("x", "")).want(t, 200)
				began := time.Now()
				w.stop()
				if err := <-w.ended; err != nil || time.Since(began) != 0 {
					t.Errorf("Run returns %v after %v, want nil at once", err, time.Since(began))
				}
			})
		})
	}
}

func TestStopAborts(t *testing.T) {
	inWorld(t, busy(simengine.ShutdownAbort), func(t *testing.T, w *world) {
		stream := w.later(t.Context(), chatBody("x", `,"stream":true`))
		whole := w.later(t.Context(), chatBody("x", ""))
		time.Sleep(7 * time.Second)
		w.stop()
		if err := <-w.ended; err != nil {
			t.Errorf("Run returns %v", err)
		}
		if r := <-stream; r.err == nil || r.tally().ContentEvents == 0 || r.tally().Done {
			t.Errorf("the stream is %+v (%v), want it cut", r.tally(), r.err)
		}
		if r := <-whole; r.err == nil {
			t.Errorf("the answer came: %+v", r)
		}
		if c := w.engine.Counts(); c.Running != 0 || c.Aborted != 2 {
			t.Errorf("counts are %+v", c)
		}
	})
}

func TestStopDrains(t *testing.T) {
	inWorld(t, busy(simengine.ShutdownDrain), func(t *testing.T, w *world) {
		c := w.later(t.Context(), chatBody("x", ""))
		time.Sleep(7 * time.Second)
		began := time.Now()
		w.stop()
		synctest.Wait()
		w.post(chatPath, chatBody("late", "")).want(t, 503, "shutting down")
		w.get("/health").want(t, 503)
		(<-c).want(t, 200, "tok")
		if err := <-w.ended; err != nil || time.Since(began).Truncate(time.Second) != 3*time.Second { // net/http looks every few ms whether all have gone
			t.Errorf("Run returns %v after %v, want nil after 3s", err, time.Since(began))
		}
	})
}

func TestStopDrainsNotForEver(t *testing.T) {
	cfg := busy(simengine.ShutdownDrain)
	cfg.Temper.ShutdownTimeout = 2 * second
	inWorld(t, cfg, func(t *testing.T, w *world) {
		c := w.later(t.Context(), chatBody("x", ""))
		began := time.Now()
		w.stop()
		if err := <-w.ended; err != nil || time.Since(began).Truncate(time.Second) != 2*time.Second {
			t.Errorf("Run returns %v after %v, want nil after 2s", err, time.Since(began))
		}
		if r := <-c; r.err == nil {
			t.Errorf("the answer came: %+v", r)
		}
	})
}

// Like llama-server: the first order stops the work and keeps everything open, the second ends it.
func TestStopHangs(t *testing.T) {
	inWorld(t, busy(simengine.ShutdownHang), func(t *testing.T, w *world) {
		c := w.later(t.Context(), chatBody("x", `,"stream":true`))
		time.Sleep(7 * time.Second)
		w.stop()
		time.Sleep(10 * time.Minute)
		w.get("/health").want(t, 200)
		late := w.later(t.Context(), chatBody("late", ""))
		select {
		case r := <-c:
			t.Errorf("the stream ended: %+v", r)
		case err := <-w.ended:
			t.Errorf("the engine ended: %v", err)
		case <-late:
			t.Error("a late request was answered")
		default:
		}
		w.engine.Stop()
		if exit, ok := errors.AsType[*simengine.ExitError](<-w.ended); !ok || exit.Code != 1 {
			t.Errorf("Run returns %v, want exit code 1", exit)
		}
		if r := <-c; r.err == nil || r.tally().Done {
			t.Errorf("the stream ended well: %+v", r)
		}
		<-late
	})
}

func TestStopHangsUntilTheClientLeaves(t *testing.T) {
	inWorld(t, busy(simengine.ShutdownHang), func(t *testing.T, w *world) {
		ctx, leave := context.WithCancel(t.Context())
		c := w.later(ctx, chatBody("x", ""))
		w.stop()
		time.Sleep(time.Hour)
		leave()
		<-c
		if err := <-w.ended; err != nil {
			t.Errorf("Run returns %v, want nil", err)
		}
	})
}

func TestRefusesToStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		temper := simengine.Temper{StartupDuration: 20 * second, StartExit: 3, StartError: "torch.OutOfMemoryError: CUDA out of memory"}
		e, err := simengine.New(simengine.Config{Models: []string{"m"}, Temper: temper})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		exit, ok := errors.AsType[*simengine.ExitError](e.Run(t.Context()))
		if !ok || exit.Code != 3 || exit.Reason != temper.StartError || time.Since(began) != 20*time.Second {
			t.Errorf("Run returns %v after %v", exit, time.Since(began))
		}
	})
}
