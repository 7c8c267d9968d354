package textbusy

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"
)

func TestAgain(t *testing.T) {
	t.Parallel()
	busy := fmt.Errorf("fork/exec /x: %w", syscall.ETXTBSY)
	other := errors.New("no such file")
	for _, c := range []struct {
		name   string
		says   []error // the last one for ever
		want   error
		starts int
	}{
		{"starts at once", []error{nil}, nil, 1},
		{"busy twice", []error{busy, busy, nil}, nil, 3},
		{"another trouble", []error{other}, other, 1},
		{"busy, then another trouble", []error{busy, other}, other, 2},
		{"busy for ever", []error{busy}, busy, 10},
	} {
		starts, slept := 0, time.Duration(0)
		err := again(func() error {
			e := c.says[min(starts, len(c.says)-1)]
			starts++
			return e
		}, func(d time.Duration) { slept += d })
		if !errors.Is(err, c.want) || starts != c.starts {
			t.Errorf("%s: %d starts and %v, want %d and %v", c.name, starts, err, c.starts, c.want)
		}
		if slept > time.Second {
			t.Errorf("%s: slept %s", c.name, slept)
		}
	}
}
