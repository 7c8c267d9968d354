package bunstore

import (
	"math"
	"time"
)

// nanos is a time as it is kept: nanoseconds since 1970 in UTC, and zero, which
// columns hold as NULL, for no time. A time beyond what fits is kept as the
// farthest that does, and the very start of 1970 a nanosecond later: neither may
// turn an end into no end.
func nanos(t time.Time) int64 {
	switch {
	case t.IsZero():
		return 0
	case t.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	if n := t.UnixNano(); n != 0 {
		return n
	}
	return 1
}

// instant is the time that was kept.
func instant(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
