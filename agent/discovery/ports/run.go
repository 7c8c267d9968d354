package ports

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"
)

const (
	// mostAnswer bounds what a tool prints, but a map of a fabric.
	mostAnswer = 256 << 10
	// mostReason bounds what a tool's complaint becomes.
	mostReason = 300
	// killGrace is how long a killed program may take to end before it is left.
	killGrace = 2 * time.Second
)

var (
	errTooMuch = errors.New("it prints more than is read")
	errMissing = errors.New("ports: the program is not installed")
)

// runner runs tools that may hang for ever in the kernel: nobody waits for them,
// and there is never a second one beside one that hangs.
type runner struct {
	env  []string
	dir  string
	mu   sync.Mutex
	busy map[string]bool
}

// find gives the path of a tool. Administrators' programs are not on everybody's
// PATH.
func find(path, name string) (string, error) {
	if path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("%w: %s", errMissing, path)
		}
		return path, nil
	}
	if p, err := exec.LookPath(name); err == nil {
		return p, nil
	}
	for _, dir := range []string{"/usr/sbin", "/sbin", "/usr/bin", "/usr/local/sbin"} {
		if p := filepath.Join(dir, name); runnable(p) {
			return p, nil
		}
	}
	return "", fmt.Errorf("%w: %s", errMissing, name)
}

func runnable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// bounded keeps the first bytes and says when there are more. The buffer is not
// embedded: its ReadFrom would read on without end.
type bounded struct {
	kept bytes.Buffer
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	room := b.most - b.kept.Len()
	if len(p) <= room {
		return b.kept.Write(p)
	}
	b.kept.Write(p[:max(room, 0)])
	return 0, errTooMuch
}

// output runs a tool and gives what it prints, at most so many bytes, in at most
// so long. Its error is a reason for people; what was printed until then comes
// with it.
func (r *runner) output(ctx context.Context, limit time.Duration, most int, path string, args ...string) ([]byte, error) {
	key := path + " " + strings.Join(args, " ")
	r.mu.Lock()
	if r.busy[key] {
		r.mu.Unlock()
		return nil, fmt.Errorf("%s has not ended since it was last asked; look at the adapter's driver", filepath.Base(path))
	}
	if r.busy == nil {
		r.busy = map[string]bool{}
	}
	r.busy[key] = true
	r.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type result struct {
		out []byte
		err error
	}
	done := make(chan result, 1)
	go func() {
		out, err := r.once(ctx, most, path, args)
		r.mu.Lock()
		delete(r.busy, key)
		r.mu.Unlock()
		done <- result{out, err}
	}()
	select {
	case got := <-done:
		return got.out, got.err
	case <-ctx.Done():
	}
	grace := time.NewTimer(2 * killGrace)
	defer grace.Stop()
	select {
	case got := <-done:
		return got.out, got.err
	case <-grace.C:
		return nil, fmt.Errorf("%s hangs and cannot be ended; look at the adapter's driver", filepath.Base(path))
	}
}

func (r *runner) once(ctx context.Context, most int, path string, args []string) ([]byte, error) {
	name := filepath.Base(path)
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}, r.env...)
	cmd.Dir, cmd.WaitDelay = r.dir, killGrace
	out, said := bounded{most: most}, bounded{most: mostAnswer}
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	switch {
	case err == nil:
		return out.kept.Bytes(), nil
	case errors.Is(err, errTooMuch) || out.kept.Len() >= most:
		return out.kept.Bytes(), fmt.Errorf("%s: %w", name, errTooMuch)
	case ctx.Err() != nil:
		return out.kept.Bytes(), fmt.Errorf("%s does not answer", name)
	}
	if why := lastLine(said.kept.String()); why != "" {
		return out.kept.Bytes(), fmt.Errorf("%s: %s", name, why)
	}
	return out.kept.Bytes(), fmt.Errorf("%s: %w", name, err)
}

// processIDs stand in what the tools say; they would make each failure another.
var processIDs = regexp.MustCompile(`\[\d+\] ?`)

// lastLine is the last thing a tool said, fit to be shown.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	line := processIDs.ReplaceAllString(lines[len(lines)-1], "")
	line = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, line)
	return strings.TrimSpace(line[:min(len(line), mostReason)])
}
