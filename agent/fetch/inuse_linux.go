package fetch

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// openIn names a process that has a file of a folder open or mapped. Empty: none
// that can be looked into. Files are known by their number as well as by their
// path, since a process may see them elsewhere.
func openIn(folder string) string {
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	files := map[uint64]string{}
	_ = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Name() != lockName && e.Type().IsRegular() {
			info, err := e.Info()
			if err != nil {
				return err
			}
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				files[st.Ino] = e.Name()
			}
		}
		return nil
	})
	procs, err := os.ReadDir("/proc")
	if err != nil {
		return "nobody can say which process"
	}
	for _, p := range procs {
		if _, err := strconv.Atoi(p.Name()); err != nil {
			continue
		}
		dir := filepath.Join("/proc", p.Name())
		if mapsIn(dir, folder, files) || opensIn(dir, folder) {
			return "process " + p.Name() + name(dir)
		}
	}
	return ""
}

func name(dir string) string {
	comm, err := os.ReadFile(filepath.Join(dir, "comm"))
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (%s)", strings.TrimSpace(string(comm)))
}

// mapsIn reads "address perms offset dev inode path".
func mapsIn(dir, folder string, files map[uint64]string) bool {
	f, err := os.Open(filepath.Join(dir, "maps"))
	if err != nil {
		return false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 {
			continue
		}
		path := fields[5] // a path with a space goes on, and begins as it does
		ino, _ := strconv.ParseUint(fields[4], 10, 64)
		known, ours := files[ino]
		if within(path, folder) || ours && filepath.Base(path) == known {
			return true
		}
	}
	return false
}

func opensIn(dir, folder string) bool {
	fds, err := os.ReadDir(filepath.Join(dir, "fd"))
	if err != nil {
		return false
	}
	for _, fd := range fds {
		path, err := os.Readlink(filepath.Join(dir, "fd", fd.Name()))
		if err == nil && within(path, folder) && filepath.Base(path) != lockName {
			return true
		}
	}
	return false
}

func within(path, folder string) bool {
	return strings.HasPrefix(path, folder+string(filepath.Separator))
}

// sharedDisks are the magic numbers of file systems that other machines mount
// too: NFS, SMB, CIFS, Lustre, Ceph, FUSE (and virtiofs), 9P, GPFS and BeeGFS.
var sharedDisks = map[uint32]bool{
	0x6969: true, 0x517b: true, 0xff534d42: true, 0xfe534d42: true, 0x0bd00bd0: true, 0x00c36400: true, 0x65735546: true,
	0x01021997: true, 0x47504653: true, 0x19830326: true,
}

func sharedDisk(dir string) bool {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return true // nobody knows
	}
	return sharedDisks[uint32(s.Type)]
}
