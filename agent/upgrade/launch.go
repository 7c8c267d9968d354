package upgrade

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrTaken ends an agent that is to be another version.
var ErrTaken = errors.New("upgrade: another version takes over")

// Launcher is what a process does before it is an agent, and after.
type Launcher struct {
	// Dir is the agent's data folder.
	Dir string
	// Agent is the agent of this program. An error that matches ErrTaken says that
	// another version takes over.
	Agent func(context.Context) error
	// Log is where people who started the process look. Nil: standard error.
	Log io.Writer
}

func (l *Launcher) note(format string, args ...any) {
	w := l.Log
	if w == nil {
		w = os.Stderr
	}
	fmt.Fprintf(w, "llmgw-agent: "+format+"\n", args...)
}
