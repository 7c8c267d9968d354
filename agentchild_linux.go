package llmgw

import (
	"os/exec"
	"syscall"
)

// endWithParent lets the kernel end the child when this process is killed. It
// looks at the thread that started the child, so a thread that ends early would
// end the child early; the agent is started again then.
func endWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
}
