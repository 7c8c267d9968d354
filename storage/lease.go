package storage

import "time"

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
