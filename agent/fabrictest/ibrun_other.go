//go:build !linux

package fabrictest

import "os/exec"

// runWithUs runs a program. Here nothing ties its life to ours.
func runWithUs(cmd *exec.Cmd) error { return cmd.Run() }
