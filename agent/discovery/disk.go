package discovery

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"llmgw.io/llmgw/inventory"
)

// diskRoom is how much a file system has and how much of it is free, in bytes.
type diskRoom struct {
	total, free int64
}

// mount is one line of mountinfo.
type mount struct {
	// device tells file systems apart: one may be mounted in many places.
	device string
	at     string
	kind   string
	// source is the disk, or the server and what it gives.
	source string
}

// sharedKinds are file systems that other machines write to as well, so their
// room is not this machine's to give out.
var sharedKinds = []string{
	"nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "lustre", "gpfs", "beegfs", "glusterfs",
	"9p", "virtiofs", "afs", "orangefs", "ocfs2", "gfs2", "panfs", "pvfs2", "wekafs", "fuse",
}

func (m mount) shared() bool {
	return slices.Contains(sharedKinds, m.kind) || strings.HasPrefix(m.kind, "fuse.")
}

// disks sums up the local file systems that the folders of weights are on, and
// lists all that weights may stand on.
func (p *Prober) disks(ctx context.Context, f *inventory.Facts) error {
	if len(p.cfg.WeightsDirs) == 0 {
		return nil
	}
	local, shared, err := p.weightMounts(ctx)
	for _, m := range shared {
		f.Warnings = append(f.Warnings, fmt.Sprintf("weights in %s are on a shared file system (%s): its room is not counted, and loading is as fast as its network", m.at, m.kind))
	}
	errs := []error{err}
	known, failed := map[string]diskRoom{}, map[string]bool{}
	for _, m := range local {
		r, err := p.roomOf(ctx, m)
		errs = append(errs, err)
		if err == nil {
			known[m.device] = r
		}
		failed[m.device] = err != nil
		f.DiskTotalMB += r.total >> 20
		f.DiskFreeMB += r.free >> 20
	}
	f.Disks, err = p.listDisks(ctx, known, failed)
	return errors.Join(append(errs, err)...)
}

// diskFree is the same sum at this moment; zero where it is not known.
func (p *Prober) diskFree(ctx context.Context) int64 {
	var sum int64
	if len(p.cfg.WeightsDirs) == 0 {
		return 0
	}
	local, _, _ := p.weightMounts(ctx)
	for _, m := range local {
		if r, err := p.roomOf(ctx, m); err == nil {
			sum += r.free
		}
	}
	return sum
}

func (p *Prober) roomOf(ctx context.Context, m mount) (diskRoom, error) {
	return guarded(ctx, &p.slow, "the file system at "+m.at, func(context.Context) (diskRoom, error) { return p.room(m.at) })
}

// weightMounts finds the file systems of the folders of weights, each once. The
// place of each is a folder of weights on it, or what there is of its path. An
// error is about some of them only.
func (p *Prober) weightMounts(ctx context.Context) (local, shared []mount, err error) {
	all, err := p.mounts()
	if err != nil {
		return nil, nil, err
	}
	var errs []error
	seen := map[string]bool{}
	for _, dir := range p.cfg.WeightsDirs {
		// Links are followed, and where they lead may not answer.
		place, err := guarded(ctx, &p.slow, "the folder "+dir, func(context.Context) (string, error) {
			return filepath.EvalSymlinks(existing(dir))
		})
		if err != nil {
			errs = append(errs, plain(err))
			continue
		}
		m, ok := mountOf(all, place)
		switch {
		case !ok:
			errs = append(errs, fmt.Errorf("mountinfo has no file system for %s", dir))
		case seen[m.device]:
		case m.shared():
			shared = append(shared, mount{device: m.device, at: dir, kind: m.kind})
		default:
			local = append(local, mount{device: m.device, at: place, kind: m.kind})
		}
		seen[m.device] = true
	}
	return local, shared, errors.Join(errs...)
}

// existing is the path, or what is above it as far as it does not exist yet.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

// mountOf finds the file system that a path is on: the longest place above it,
// and of several at one place the last, which hides the others.
func mountOf(all []mount, path string) (best mount, ok bool) {
	for _, m := range all {
		rel, err := filepath.Rel(m.at, path)
		inside := err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
		if inside && (!ok || len(m.at) >= len(best.at)) {
			best, ok = m, true
		}
	}
	return best, ok
}

func (p *Prober) mounts() ([]mount, error) {
	text, err := read(p.proc("self/mountinfo"))
	if err != nil {
		return nil, err
	}
	var out []mount
	for line := range strings.SplitSeq(text, "\n") {
		before, after, ok := strings.Cut(line, " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if ok && len(fields) > 4 && len(kind) > 0 {
			m := mount{device: fields[2], at: unescape(fields[4]), kind: kind[0]}
			if len(kind) > 1 {
				m.source = unescape(kind[1])
			}
			out = append(out, m)
		}
	}
	return out, nil
}

// unescape reads the octal escapes in which mountinfo writes white space.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
