package probecmd

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/inventory"
)

// measured counts what it is asked.
type measured struct {
	asked []string
	at    []time.Time
}

func (m *measured) Facts(context.Context) inventory.Facts {
	m.asked = append(m.asked, "facts")
	return inventory.Facts{Hostname: "n", Warnings: []string{"w"}}
}

func (m *measured) Sample(context.Context) inventory.Sample {
	m.asked, m.at = append(m.asked, "sample"), append(m.at, time.Now())
	return inventory.Sample{Load1: float64(len(m.at))}
}

func TestProbeGivesTheSecondOfTwoSamples(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &measured{}
		_, s, err := look(t.Context(), m)
		if err != nil || s.Load1 != 2 || !slices.Equal(m.asked, []string{"sample", "facts", "sample"}) || m.at[1].Sub(m.at[0]) < apart {
			t.Fatalf("got %v, %v, %v", s, err, m.asked)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := look(ctx, m); err == nil {
			t.Error("want it to end when nobody waits")
		}
	})
}
