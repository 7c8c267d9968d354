package provision

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Bounds of what one archive may unpack to. An engine with its libraries is a
// few GiB.
const (
	maxEntries  = 200_000
	maxUnpacked = 64 << 30
)

// errArchive begins what is wrong with an archive.
var errArchive = errors.New("the archive is refused")

// unpacker writes the entries of one archive below a folder, and nowhere else.
type unpacker struct {
	root    *os.Root
	entries int
	room    int64
}

// unpack writes the archive at name, a tar.gz or a zip by its ending, into dir,
// which must be there. Entries that lead out of it, devices, and more than a
// bounded number of bytes are refused. Links may point inside only.
func unpack(name, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	u := &unpacker{root: root, room: maxUnpacked}
	switch {
	case strings.HasSuffix(name, ".zip"):
		return u.zip(name)
	case strings.HasSuffix(name, ".tar.gz"), strings.HasSuffix(name, ".tgz"):
		return u.tar(name)
	}
	return fmt.Errorf("%w: %s is neither .tar.gz nor .zip", errArchive, path.Base(name))
}

func (u *unpacker) tar(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("%w: %w", errArchive, err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errArchive, err)
		}
		switch h.Typeflag {
		case tar.TypeDir:
			err = u.dir(h.Name)
		case tar.TypeReg:
			err = u.file(h.Name, h.FileInfo().Mode(), r)
		case tar.TypeSymlink:
			err = u.link(h.Name, h.Linkname)
		case tar.TypeXGlobalHeader:
			continue
		default:
			err = fmt.Errorf("%w: %q is neither a file, a folder nor a link inside", errArchive, h.Name)
		}
		if err != nil {
			return err
		}
	}
}

func (u *unpacker) zip(name string) error {
	z, err := zip.OpenReader(name)
	if err != nil {
		return fmt.Errorf("%w: %w", errArchive, err)
	}
	defer func() { _ = z.Close() }()
	for _, f := range z.File {
		if err := u.zipped(f); err != nil {
			return err
		}
	}
	return nil
}

func (u *unpacker) zipped(f *zip.File) error {
	mode := f.Mode()
	if mode.IsDir() {
		return u.dir(strings.TrimSuffix(f.Name, "/"))
	}
	r, err := f.Open()
	if err != nil {
		return fmt.Errorf("%w: %q: %w", errArchive, f.Name, err)
	}
	defer r.Close()
	switch {
	case mode&fs.ModeSymlink != 0:
		target, err := io.ReadAll(io.LimitReader(r, 4<<10))
		if err != nil {
			return fmt.Errorf("%w: %q: %w", errArchive, f.Name, err)
		}
		return u.link(f.Name, string(target))
	case mode.IsRegular():
		return u.file(f.Name, mode, r)
	}
	return fmt.Errorf("%w: %q is neither a file, a folder nor a link inside", errArchive, f.Name)
}

// entry counts one entry and gives its clean name below the folder.
func (u *unpacker) entry(name string) (string, error) {
	if u.entries++; u.entries > maxEntries {
		return "", fmt.Errorf("%w: it has more than %d entries", errArchive, maxEntries)
	}
	clean := path.Clean(strings.TrimSuffix(name, "/"))
	if clean != "." && !localPath(clean) {
		return "", fmt.Errorf("%w: %q leads out of it", errArchive, name)
	}
	return clean, nil
}

func (u *unpacker) dir(name string) error {
	name, err := u.entry(name)
	if err != nil {
		return err
	}
	return u.root.MkdirAll(name, 0o755)
}

func (u *unpacker) file(name string, mode fs.FileMode, r io.Reader) error {
	name, err := u.entry(name)
	if err != nil {
		return err
	}
	if err := u.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	perm := fs.FileMode(0o644)
	if mode&0o111 != 0 {
		perm = 0o755
	}
	f, err := u.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return fmt.Errorf("%w: %q: %w", errArchive, name, err)
	}
	n, err := io.Copy(f, io.LimitReader(r, u.room+1))
	if u.room -= n; err == nil && u.room < 0 {
		err = fmt.Errorf("%w: it unpacks to more than %d GiB", errArchive, maxUnpacked>>30)
	}
	return errors.Join(err, f.Close())
}

func (u *unpacker) link(name, target string) error {
	name, err := u.entry(name)
	if err != nil {
		return err
	}
	if path.IsAbs(target) || !localPath(path.Join(path.Dir(name), target)) {
		return fmt.Errorf("%w: the link %q leads out of it", errArchive, name)
	}
	if err := u.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	return u.root.Symlink(target, name)
}
