package engines

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"llmgw.io/llmgw/internal/textbusy"
)

const (
	// askProgram is how long a program may take to say its version. One that
	// hangs in a driver must not take the agent's report along.
	askProgram = 5 * time.Second
	// askAgain is when a program is asked again though it is the same: devices
	// come and go with their drivers.
	askAgain = 10 * time.Minute
	// mostOutput is how much of what it says is read.
	mostOutput = 64 << 10
	// plainPath is where engines find what they call.
	plainPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// program is an engine's executable, and what it said about itself.
type program struct {
	given, name string
	log         *slog.Logger

	// asking lets one question at a time reach the program, and guards what it
	// said. All of it holds for the file with this stamp.
	asking sync.Mutex
	stamp  string
	said   map[string]string
	at     time.Time
	failed string

	mu   sync.Mutex
	path string
}

// find looks the program up. It gives an absolute path, or empty when there is
// none.
func (p *program) find() string {
	path := p.given
	if path == "" {
		found, err := exec.LookPath(p.name)
		if err != nil {
			return ""
		}
		path = found
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return ""
	}
	return path
}

// last is the path that was found last; before anybody looked, the given one.
func (p *program) last() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.path == "" && filepath.IsAbs(p.given) {
		return p.given
	}
	return p.path
}

// ask runs the program once with each of the arguments and gives what it said,
// by argument. Answers are kept for a while, or until the file changes; not when
// one is missing. ok is false when the program is not there or does not answer
// the first.
func (p *program) ask(ctx context.Context, args ...string) (said map[string]string, ok bool) {
	p.asking.Lock()
	defer p.asking.Unlock()
	path := p.find()
	p.mu.Lock()
	p.path = path
	p.mu.Unlock()
	info, err := os.Stat(path)
	if err != nil {
		p.stamp = ""
		return nil, false
	}
	stamp := fmt.Sprint(path, info.ModTime().UnixNano(), info.Size())
	if stamp == p.stamp && time.Since(p.at) < askAgain {
		return p.said, true
	}
	said, p.stamp = map[string]string{}, ""
	for i, arg := range args {
		out, err := output(ctx, path, arg)
		switch {
		case err == nil:
			said[arg] = out
		case i == 0:
			p.complain(ctx, path, err)
			return nil, false
		}
	}
	if p.failed = ""; len(said) == len(args) {
		p.stamp, p.said, p.at = stamp, said, time.Now()
	}
	return said, true
}

// complain tells once that a program is there and does not run.
func (p *program) complain(ctx context.Context, path string, err error) {
	if ctx.Err() != nil || p.failed == err.Error() {
		return
	}
	p.failed = err.Error()
	p.log.Warn("the engine is there but does not run; it counts as not installed", "path", path, "err", err)
}

// output runs a program with nothing of our environment in its own.
func output(ctx context.Context, path, arg string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askProgram)
	defer cancel()
	var out capped
	err := textbusy.Again(func() error {
		cmd := exec.CommandContext(ctx, path, arg)
		cmd.Env = []string{"PATH=" + plainPath, "LANG=C.UTF-8", "HOME=" + os.TempDir(), "CUDA_DEVICE_ORDER=PCI_BUS_ID"}
		cmd.Dir = os.TempDir()
		cmd.Stdout, cmd.Stderr = &out, &out
		cmd.WaitDelay = time.Second
		return cmd.Run()
	})
	if err != nil {
		return "", fmt.Errorf("%s %s: %w (%s)", path, arg, err, clip(out.String()))
	}
	return out.String(), nil
}

// capped keeps the beginning of what is written to it.
type capped struct{ bytes.Buffer }

// Write takes everything and keeps what there is room for.
func (c *capped) Write(b []byte) (int, error) {
	if room := mostOutput - c.Len(); room > 0 {
		c.Buffer.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}
