package gpu

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
)

const (
	// mostAnswer and mostSaid bound what a child prints.
	mostAnswer = 4 << 20
	mostSaid   = 16 << 10
)

// passed are the variables that a child gets: where the driver's library is, and
// nothing that the agent keeps to itself.
var passed = []string{"PATH", "LD_LIBRARY_PATH", "NVIDIA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"}

func command(argv []string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = []string{}
	for _, name := range passed {
		if v, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	return cmd
}

// start runs a child to its end, in the background.
func start(argv []string) (*running, error) {
	cmd := command(argv)
	out, said := &bounded{most: mostAnswer}, &bounded{most: mostSaid}
	cmd.Stdout, cmd.Stderr = out, said
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r := &running{kill: func() { _ = cmd.Process.Kill() }, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		r.out, r.errOut, r.code = out.Bytes(), strings.ToValidUTF8(said.String(), "?"), cmd.ProcessState.ExitCode()
		close(r.done)
	}()
	return r, nil
}

// bounded keeps the beginning of what is written.
type bounded struct {
	bytes.Buffer
	most int
}

// Write never fails: what is too much is dropped.
func (b *bounded) Write(p []byte) (int, error) {
	_, _ = b.Buffer.Write(p[:min(len(p), max(0, b.most-b.Len()))])
	return len(p), nil
}

var _ io.Writer = (*bounded)(nil)
