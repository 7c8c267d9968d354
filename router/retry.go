package router

import (
	"sync/atomic"

	"golang.org/x/time/rate"
)

// retryBudget bounds retries to a tenth of the requests, so that a fleet in
// trouble does not get twice the load. The floor lets a router with few
// requests retry at all.
type retryBudget struct {
	tenths atomic.Int64 // earned and not spent, in tenths of a retry
	floor  *rate.Limiter
}

const (
	earnedMost = 1000 // tenths
	retryCost  = 10
)

func newRetryBudget() *retryBudget { return &retryBudget{floor: rate.NewLimiter(1, 10)} }

// earn counts a request.
func (b *retryBudget) earn() {
	if b.tenths.Load() < earnedMost {
		b.tenths.Add(1)
	}
}

// spend reports whether there may be a retry, and counts it.
func (b *retryBudget) spend() bool {
	for {
		n := b.tenths.Load()
		if n < retryCost {
			return b.floor.Allow()
		}
		if b.tenths.CompareAndSwap(n, n-retryCost) {
			return true
		}
	}
}
