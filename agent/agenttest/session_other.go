//go:build !unix

package agenttest

import "syscall"

func newSession() *syscall.SysProcAttr { return nil }
