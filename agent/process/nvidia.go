package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// modprobeLimit bounds nvidia-modprobe, which hangs where the driver does.
const modprobeLimit = 10 * time.Second

// cuda are the places of what CUDA wants of a machine.
type cuda struct {
	root string
	find func(name string) (string, error)
	run  func(ctx context.Context, path string, args ...string) ([]byte, error)
}

// MakeCUDAFiles has the NVIDIA driver make /dev/nvidia-uvm where it is missing. CUDA
// makes it by itself for root alone, so that on a machine where nothing has used a
// GPU since it was started, the first engine with a user of its own would find none.
// It does nothing where there is no such driver, and may be repeated. It takes ten
// seconds at most.
func MakeCUDAFiles(ctx context.Context) error {
	return cuda{"/", exec.LookPath, runPlain}.makeFiles(ctx)
}

func (c cuda) makeFiles(ctx context.Context) error {
	uvm := filepath.Join(c.root, "dev", "nvidia-uvm")
	if there(uvm) || !there(filepath.Join(c.root, "proc", "driver", "nvidia", "version")) {
		return nil
	}
	path, err := c.find("nvidia-modprobe")
	if err != nil {
		return fmt.Errorf("%s is missing, and so is nvidia-modprobe, which makes it; install that, or load nvidia-uvm when the machine starts", uvm)
	}
	ctx, cancel := context.WithTimeout(ctx, modprobeLimit)
	defer cancel()
	out, err := c.run(ctx, path, "-c0", "-u")
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s is missing, and nvidia-modprobe was not done after %s; look at the kernel's log", uvm, modprobeLimit)
	case err != nil:
		return fmt.Errorf("%s is missing, and nvidia-modprobe cannot make it: %w %s", uvm, err, firstOf(out))
	case !there(uvm):
		return fmt.Errorf("%s is missing, also after nvidia-modprobe; look at the kernel's log", uvm)
	}
	return nil
}

func there(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
}

// firstOf is the first line of what a program says, in bounds.
func firstOf(out []byte) string {
	const limit = 200
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return strings.ToValidUTF8(line[:min(len(line), limit)], "?")
}

func runPlain(ctx context.Context, path string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	cmd.WaitDelay = time.Second
	return cmd.CombinedOutput()
}
