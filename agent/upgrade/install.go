package upgrade

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"llmgw.io/llmgw/internal/durable"
	"llmgw.io/llmgw/internal/release"
	"llmgw.io/llmgw/internal/textbusy"
)

// newPrefix begins the names of folders that are not in place yet.
const newPrefix = ".new-"

// folder makes the folder of versions, where nobody else may write.
func (u *Upgrader) folder() error {
	if err := os.MkdirAll(u.dir, 0o755); err != nil {
		return u.diskError(err)
	}
	info, err := os.Stat(u.dir)
	if err != nil {
		return u.diskError(err)
	}
	if info.Mode().Perm()&0o755 != 0o755 { // a umask had its way
		if err := os.Chmod(u.dir, info.Mode().Perm()|0o755); err != nil {
			return u.diskError(err)
		}
	}
	if info, err = os.Stat(u.dir); err != nil || !own(info) {
		return errors.Join(fmt.Errorf("others than root and the agent's user can write to %s, and so could exchange the agent; take that from them (chown, chmod go-w)", u.dir), err)
	}
	left, _ := filepath.Glob(filepath.Join(u.dir, newPrefix+"*"))
	for _, path := range left { // of one that was cut off
		_ = os.RemoveAll(path)
	}
	return nil
}

// diskError says what is wrong with the folder of versions.
func (u *Upgrader) diskError(err error) error {
	switch {
	case durable.Full(err):
		return fmt.Errorf("there is no room for another version on the disk of %s: %w; make some, and ask again", u.dir, err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("the agent cannot write to %s: %w; run it as root, or as the user whose folder that is, on a disk that can be written", u.dir, err)
	}
	return fmt.Errorf("another version cannot be put into %s: %w", u.dir, err)
}

// place writes a program that was verified, runs it once, and makes its folder
// the version's.
func (u *Upgrader) place(ctx context.Context, version string, program, signature []byte) (err error) {
	fresh, err := os.MkdirTemp(u.dir, newPrefix)
	if err != nil {
		return u.diskError(err)
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(fresh)
		}
	}()
	path := filepath.Join(fresh, programName)
	for _, f := range []struct {
		path string
		data []byte
		mode os.FileMode
	}{{path, program, 0o755}, {path + ".minisig", signature, 0o644}} {
		if err := write(f.path, f.data, f.mode); err != nil {
			return u.diskError(err)
		}
	}
	if err := os.Chmod(fresh, 0o755); err != nil {
		return u.diskError(err)
	}
	if err := u.prove(ctx, path, version); err != nil {
		return err
	}
	to := filepath.Join(u.dir, version)
	if err := os.RemoveAll(to); err != nil { // of an upgrade that failed
		return u.diskError(err)
	}
	if err := os.Rename(fresh, to); err != nil {
		return u.diskError(err)
	}
	if err := durable.SyncDir(u.dir); err != nil {
		return u.diskError(err)
	}
	return nil
}

func write(path string, data []byte, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	return errors.Join(err, durable.SyncDir(filepath.Dir(path)))
}

// prove runs a program for its version.
func (u *Upgrader) prove(ctx context.Context, path, version string) error {
	ctx, cancel := context.WithTimeout(ctx, u.cfg.Smoke)
	defer cancel()
	var out bytes.Buffer
	err := textbusy.Again(func() error {
		out.Reset()
		cmd := exec.CommandContext(ctx, path, "version")
		cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"}
		cmd.Stdout, cmd.Stderr = &limited{b: &out}, &limited{b: &out}
		cmd.WaitDelay = time.Second
		return cmd.Run()
	})
	said := strings.TrimSpace(strings.ToValidUTF8(out.String(), ""))
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("no program may run in %s (is its disk mounted noexec?); give the agent a data folder on another disk", u.dir)
	case ctx.Err() != nil:
		return fmt.Errorf("%s of %s did not say its version within %s; it is not taken", programName, version, u.cfg.Smoke)
	case err != nil:
		return fmt.Errorf("%s of %s does not run on this machine: %w: %s; it is not taken", programName, version, err, said)
	}
	if words := strings.Fields(said); len(words) < 2 || words[0] != programName || words[1] != version {
		return fmt.Errorf("what is signed as %s of %s says of itself that it is %q; it is not taken: build and sign it anew", programName, version, said)
	}
	return nil
}

// limited keeps the beginning of what is written to it.
type limited struct{ b *bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if room := saidVersion - l.b.Len(); room > 0 {
		l.b.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}

const saidVersion = 400

// sweep removes versions but the one that runs, the one before and the one that
// was tried last. Gates of an older agent run on without their file.
func (u *Upgrader) sweep(s *state) {
	entries, err := os.ReadDir(u.dir)
	if err != nil {
		return
	}
	keep := []string{s.To, s.Back, u.me.folder}
	for _, e := range entries {
		if e.IsDir() && release.CheckTag(e.Name()) == nil && !slices.Contains(keep, e.Name()) {
			if err := os.RemoveAll(filepath.Join(u.dir, e.Name())); err != nil {
				u.cfg.Logger.Warn("an old version cannot be removed", "version", e.Name(), "err", err)
			}
		}
	}
}

// unwrapped is a refusal without the room it comes from.
func unwrapped(err error) error {
	return errors.New(strings.TrimPrefix(err.Error(), release.ErrRefused.Error()+": "))
}
