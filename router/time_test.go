package router_test

import (
	"testing"
	"time"
)

// shipping is longer than rows take to the store.
const shipping = 2 * time.Second

// wait lets the bubble's time pass.
func wait(t *testing.T, d time.Duration) {
	t.Helper()
	<-time.After(d)
}
