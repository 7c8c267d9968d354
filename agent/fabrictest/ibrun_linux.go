package fabrictest

import (
	"os/exec"
	"runtime"
	"syscall"
)

// runWithUs runs a program that ends with this one, however that ends: the end that
// listens would else wait for ever. The kernel ties it to the thread that started it,
// which is kept meanwhile.
func runWithUs(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd.Run()
}
