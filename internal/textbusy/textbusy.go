package textbusy

import (
	"errors"
	"syscall"
	"time"
)

// Pauses between tries, each twice as long as the one before. All of them
// together are about half a second.
const (
	firstPause = time.Millisecond
	lastPause  = 256 * time.Millisecond
)

// Again calls start, and again after a pause for as long as the error is that
// the program's file is open for writing, half a second at most. It returns what
// start returned last. Each call of start must make its command anew.
func Again(start func() error) error { return again(start, time.Sleep) }

func again(start func() error, sleep func(time.Duration)) error {
	for pause := firstPause; ; pause *= 2 {
		err := start()
		if !errors.Is(err, syscall.ETXTBSY) || pause > lastPause {
			return err
		}
		sleep(pause)
	}
}
