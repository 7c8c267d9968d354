package provision

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"llmgw.io/llmgw/internal/textbusy"
)

// plainPath is where programs find what they call; nothing of the agent's own
// environment is inherited.
const plainPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// prove runs the program as far as it goes without a model. What it says about
// devices is held to what the node has: a build for CUDA that sees no device is
// of no use, whatever its version is.
func (j *job) prove(ctx context.Context, r *Release, program string) error {
	out, err := run(ctx, j.in.cfg.Smoke, "", program, "--version")
	if err != nil {
		return err
	}
	j.in.cfg.Logger.Info("an engine was proved", "engine", r.Engine, "build", r.Build, "said", clip(out))
	if r.Engine != "llamacpp" {
		return nil
	}
	if out, err = run(ctx, j.in.cfg.Smoke, "", program, "--list-devices"); err != nil {
		return err
	}
	if strings.HasPrefix(r.Build, "cu") && len(j.facts.Devices) > 0 && !strings.Contains(out, "CUDA") {
		return fmt.Errorf("it finds no CUDA device, and the node has %d; it says: %s", len(j.facts.Devices), clip(out))
	}
	return nil
}

// run runs one program without our environment and gives what it said, the last
// of it when it failed.
func run(ctx context.Context, limit time.Duration, dir, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	home, err := os.MkdirTemp("", "llmgw-install-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(home) }()
	var out tail
	err = textbusy.Again(func() error {
		cmd := exec.CommandContext(ctx, program, args...)
		if cmd.Dir = dir; dir == "" {
			cmd.Dir = filepath.Dir(program)
		}
		cmd.Env = []string{"PATH=" + plainPath, "LANG=C.UTF-8", "HOME=" + home, "TMPDIR=" + home, "CUDA_DEVICE_ORDER=PCI_BUS_ID"}
		cmd.Stdout, cmd.Stderr = &out, &out
		cmd.WaitDelay = time.Second
		return cmd.Run()
	})
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "", fmt.Errorf("%s %s did not end within %s", filepath.Base(program), strings.Join(args, " "), limit)
	case err != nil:
		return "", fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err, clip(out.String()))
	}
	return out.String(), nil
}

// tail keeps the end of what is written to it.
type tail struct{ bytes.Buffer }

// Write takes everything and keeps the last of it.
func (t *tail) Write(b []byte) (int, error) {
	const most = 64 << 10
	n, _ := t.Buffer.Write(b)
	if t.Len() > 2*most {
		t.Next(t.Len() - most)
	}
	return n, nil
}

// clip keeps the end of a text, where programs say why they failed.
func clip(s string) string {
	const most = 300
	if s = strings.TrimSpace(s); len(s) > most {
		s = "…" + strings.ToValidUTF8(s[len(s)-most:], "")
	}
	return strings.Join(strings.Fields(s), " ")
}

// wheelName is how wheels are called: name-version-tags.whl (PyPA, binary
// distribution format).
var wheelName = regexp.MustCompile(`^([A-Za-z0-9_.]+)-([A-Za-z0-9_.!+]+)(-\d[A-Za-z0-9_.]*)?-[^-]+-[^-]+-[^-]+\.whl$`)

// wheels installs Python wheels into an environment of their own, without a
// network: pip gets the fetched files alone, and each one's hash.
func (j *job) wheels(ctx context.Context, r *Release, paths []string, folder string) error {
	python, err := exec.LookPath("python3")
	if err != nil {
		return errors.New("python3 is not on this node's PATH; install python3 and python3-venv")
	}
	var req strings.Builder
	for i, f := range r.Files {
		m := wheelName.FindStringSubmatch(filepath.Base(paths[i]))
		if m == nil {
			return fmt.Errorf("%s is not named like a wheel", filepath.Base(paths[i]))
		}
		fmt.Fprintf(&req, "%s==%s --hash=sha256:%s\n", m[1], m[2], f.SHA256)
	}
	list := filepath.Join(folder, "requirements.txt")
	if err := os.WriteFile(list, []byte(req.String()), 0o644); err != nil {
		return err
	}
	if _, err := run(ctx, installLimit, folder, python, "-m", "venv", folder); err != nil {
		return fmt.Errorf("an environment for Python cannot be made; is python3-venv installed? %w", err)
	}
	_, err = run(ctx, installLimit, folder, filepath.Join(folder, "bin", "python"), "-m", "pip", "install",
		"--no-index", "--no-cache-dir", "--disable-pip-version-check", "--require-hashes", "--find-links", filepath.Dir(paths[0]), "-r", list)
	return err
}

// installLimit bounds pip: vLLM and PyTorch unpack some GiB.
const installLimit = 30 * time.Minute

// inUse reports whether a process runs from a folder: by its program, or, for an
// interpreter that is linked there, by its arguments.
func inUse(folder string) bool {
	prefix := strings.TrimSuffix(folder, "/") + "/"
	procs, _ := filepath.Glob("/proc/[0-9]*")
	return slices.ContainsFunc(procs, func(p string) bool {
		if exe, err := os.Readlink(filepath.Join(p, "exe")); err == nil && strings.HasPrefix(exe, prefix) {
			return true
		}
		args, _ := os.ReadFile(filepath.Join(p, "cmdline"))
		for arg := range bytes.SplitSeq(args, []byte{0}) {
			if bytes.HasPrefix(arg, []byte(prefix)) {
				return true
			}
		}
		return false
	})
}
