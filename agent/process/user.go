package process

import "io/fs"

// User is whom a tree runs as. The zero value is the agent's own user.
type User struct {
	// UID and GID are its own and nobody else's. Zero: the agent's.
	UID, GID int
	// Groups are more groups it is in.
	Groups []int
}

// Own reports whether it is another user than the agent's.
func (u User) Own() bool { return u.UID != 0 }

// in reports whether the user is in a group.
func (u User) in(gid int) bool {
	if u.GID == gid {
		return true
	}
	for _, g := range u.Groups {
		if g == gid {
			return true
		}
	}
	return false
}

// Needs are what a user must be able to do with a file.
type Needs uint32

// What there is.
const (
	NeedRead    Needs = 4
	NeedExecute Needs = 1
	// NeedPass is to get through a folder to what is in it.
	NeedPass = NeedExecute
)

// ClosedError says what keeps a user from a file.
type ClosedError struct {
	Path string
	// At is the folder that is closed, or Path itself.
	At  string
	Err error
}

// Error is the sentence.
func (e *ClosedError) Error() string {
	if e.At == e.Path {
		return e.Path + ": " + e.Err.Error()
	}
	return e.Path + ": " + e.At + " is closed to it"
}

// Unwrap is what the kernel said.
func (e *ClosedError) Unwrap() error { return e.Err }

// deviceFiles are the files by which engines reach GPUs and adapters, below the
// root of the file system.
var deviceFiles = []string{
	"dev/nvidia*", "dev/nvidia-caps/*", "dev/nvidia-caps-imex-channels/*",
	"dev/dri/*", "dev/kfd", "dev/infiniband/*",
}

// deviceGroups are the groups to which device files are open that are not open to
// everybody. Root's own group is never given.
func deviceGroups(root fs.FS, owner func(fs.FileInfo) (gid int, ok bool)) []int {
	var out User
	for _, pattern := range deviceFiles {
		files, _ := fs.Glob(root, pattern)
		for _, file := range files {
			info, err := fs.Stat(root, file)
			if err != nil || info.IsDir() || info.Mode().Perm()&0o006 == 0o006 || info.Mode().Perm()&0o060 != 0o060 {
				continue
			}
			if gid, ok := owner(info); ok && gid != 0 && !out.in(gid) {
				out.Groups = append(out.Groups, gid)
			}
		}
	}
	return out.Groups
}
