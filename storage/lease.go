package storage

import (
	"fmt"
	"time"
)

// Lease is the right to lead, for a while.
type Lease struct {
	Holder string
	// Epoch rises with every Acquire and is carried by every write of the
	// leader.
	Epoch     int64
	ExpiresAt time.Time
}

// LeaseLife is how long a lease lasts without renewal; LeaseRenewal is how
// often the holder renews it.
const (
	LeaseLife    = 15 * time.Second
	LeaseRenewal = 5 * time.Second
)

// Live reports whether somebody holds the lease at a time.
func (l *Lease) Live(now time.Time) bool {
	return l.Holder != "" && now.Before(l.ExpiresAt)
}

// Held is the error for one who asks for a lease that another one holds.
func (l *Lease) Held() error {
	return fmt.Errorf("%w: %s leads until %s at epoch %d", ErrHeld, l.Holder, l.ExpiresAt.UTC().Format(time.RFC3339), l.Epoch)
}

// Fenced is the error for a leader's write at an epoch that is not the current
// one.
func Fenced(epoch, current int64) error {
	return fmt.Errorf("%w: this one led at epoch %d, and the epoch is %d", ErrFenced, epoch, current)
}
