package fleetsim_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"llmgw.io/llmgw/placement/fleetsim"
)

// TestLawsHold lets small random fleets live through an hour in which machines,
// agents, engines, the network, the store and the control plane fail, people
// change their minds, and room is short. Every decision and every engine that
// really runs is held against the laws, and once everything is whole again all
// must converge and come to rest. What fails is made as small as it gets and
// printed as a scenario. SEED=n runs one seed.
func TestLawsHold(t *testing.T) {
	t.Parallel()
	first, last := uint64(1), uint64(lawSeeds)
	if v := os.Getenv("SEED"); v != "" {
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			t.Fatalf("SEED=%s is no number", v)
		}
		first, last = n, n
	}
	var shrunk atomic.Int32
	for seed := first; seed <= last; seed++ {
		t.Run(fmt.Sprintf("seed%d", seed), func(t *testing.T) {
			t.Parallel()
			holdLaws(t, generate(rand.New(rand.NewPCG(seed, 11))), seed, &shrunk)
		})
	}
}

// mostShrunk is how many scenarios that fail are made small. One cause breaks
// many, and each takes a while.
const mostShrunk = 3

// holdLaws runs a scenario, and shrinks it when a law breaks.
func holdLaws(t *testing.T, text string, seed uint64, shrunk *atomic.Int32) {
	t.Helper()
	sc, err := fleetsim.Parse(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	law := broken(sc, seed)
	if law == "" {
		return
	}
	if shrunk.Add(1) > mostShrunk {
		t.Errorf("the law of %s broke; run it alone with SEED=%d for the smallest scenario in which it does", law, seed)
		return
	}
	small := fleetsim.Shrink(sc, func(sc *fleetsim.Scenario) bool { return broken(sc, seed) == law })
	r := fleetsim.Run(small, lawOptions(seed), source(seed))
	t.Errorf("the law of %s broke: %s\nwrite this to FILE and run: go run ./cmd/llmgw-control sim --heal --for 1h --moves %g --seed %d FILE\n%s",
		law, r.Violations[0].Text, lawOptions(seed).Reconciler.Moves, seed, small)
}

// lawOptions lets replicas be moved on every third seed, as many as there are.
func lawOptions(seed uint64) fleetsim.Options {
	o := fleetsim.Options{For: time.Hour, Heal: true, FirstOnly: true}
	if seed%3 == 0 {
		o.Reconciler.Moves = 100
	}
	return o
}

// broken is the first law that a scenario breaks. Empty: none.
func broken(sc *fleetsim.Scenario, seed uint64) string {
	if r := fleetsim.Run(sc, lawOptions(seed), source(seed)); r.Broke() {
		return r.Violations[0].Law
	}
	return ""
}
