//go:build !linux

package upgrade

import (
	"context"
	"os"
)

// Supported says whether agents upgrade themselves on this system.
const Supported = false

// Run is the agent.
func (l *Launcher) Run(ctx context.Context) error { return l.Agent(ctx) }

func own(os.FileInfo) bool { return true }
