package gpu

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"
)

// TestMain runs as the agent's hidden commands do, where a test wants a child
// that reads the driver.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 {
		var err error
		switch os.Args[1] {
		case "child-snapshot":
			err = PrintSnapshot(os.Stdout, os.Args[2])
		case "child-events":
			err = PrintEvents(context.Background(), os.Stdin, os.Stdout, os.Args[2])
		case "child-sleeps":
			time.Sleep(time.Hour)
		default:
			os.Exit(m.Run())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
