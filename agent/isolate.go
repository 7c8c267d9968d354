package agent

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"llmgw.io/llmgw/agent/process"
	"llmgw.io/llmgw/agent/protocol"
)

// maxProcesses is how many processes and threads one shard may have.
const maxProcesses = 4096

// isolation is how engines are kept from each other and from the agent here.
type isolation struct {
	// users says that each engine has a user of its own.
	users bool
	// lacks are sentences about what this machine does not do for it.
	lacks []string

	mu sync.Mutex
	// last is the number that was given last. Numbers are given in turn, though
	// what a user leaves behind is removed.
	last int
	// toldCUDA says that it was logged why CUDA's files are missing.
	toldCUDA bool
}

// isolate finds out how engines can be isolated, and opens what they must get to.
func (a *Agent) isolate() error {
	if runtime.GOOS != "linux" {
		return nil // where no engine can be started
	}
	why := a.openFolders()
	if why == nil {
		a.apart.users, a.apart.last = true, a.firstUser()
	} else {
		a.apart.lacks = append(a.apart.lacks, fmt.Sprintf("engines run as the agent's own user (%v): one that is broken into can read what the agent and other engines can", why))
		if a.cfg.Isolation == IsolationRequired {
			return fmt.Errorf("agent: engines cannot have users of their own, and isolation is required: %w", why)
		}
	}
	switch memory, pids := a.cgroups.Bounds(); {
	case !memory && !pids:
		a.apart.lacks = append(a.apart.lacks, "engines have no cgroup that bounds their memory and processes; run the agent from its unit, which delegates one to it")
	case !memory:
		a.apart.lacks = append(a.apart.lacks, "the engines' cgroups do not bound memory: the controller is not enabled where the agent runs")
	case !pids:
		a.apart.lacks = append(a.apart.lacks, "the engines' cgroups do not bound processes: the controller is not enabled where the agent runs")
	}
	return nil
}

// openFolders lets engines' users through the agent's folders to their own, and
// to weights. They can list none of them, and files there have modes of their own.
func (a *Agent) openFolders() error {
	if a.cfg.Isolation == IsolationNone {
		return errors.New("isolation is turned off")
	}
	if err := process.CanSwitch(a.cfg.UserMin, a.cfg.UserMax); err != nil {
		return err
	}
	anybody := process.User{UID: a.cfg.UserMax, GID: a.cfg.UserMax, Groups: []int{a.cfg.UserMin}}
	var closed *process.ClosedError
	if err := process.Reaches(anybody, filepath.Dir(a.cfg.DataDir), process.NeedPass); errors.As(err, &closed) {
		return fmt.Errorf("%s is closed to other users; keep the agent's data elsewhere, or open it with chmod o+x", closed.At)
	} else if err != nil {
		return err
	}
	shards := filepath.Join(a.cfg.DataDir, "shards")
	if err := os.MkdirAll(shards, 0o700); err != nil {
		return err
	}
	// The data folder stays root's whole: service managers give folders of another
	// owner back to him, with all that is in them.
	if err := os.Chmod(a.cfg.DataDir, 0o711); err != nil {
		return err
	}
	return errors.Join(os.Chown(shards, 0, a.cfg.UserMin), os.Chmod(shards, 0o710))
}

// firstUser is where the turn begins: two agents of one machine, which know
// nothing of each other, begin apart.
func (a *Agent) firstUser() int {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(a.cfg.DataDir))
	return a.cfg.UserMin + 1 + int(sum.Sum32()%uint32(a.cfg.UserMax-a.cfg.UserMin))
}

// chooseUser gives a shard the number of a user that no other shard has and under
// which nothing runs. Zero: engines have no users of their own here.
func (a *Agent) chooseUser(had int, taken map[int]bool) (int, error) {
	if !a.apart.users {
		return 0, nil
	}
	first, last := a.cfg.UserMin+1, a.cfg.UserMax
	if had >= first && had <= last && !taken[had] && !process.UserBusy(had) {
		return had, nil
	}
	a.apart.mu.Lock()
	defer a.apart.mu.Unlock()
	for range last - first + 1 {
		if a.apart.last++; a.apart.last < first || a.apart.last > last {
			a.apart.last = first
		}
		if uid := a.apart.last; !taken[uid] && !process.UserBusy(uid) {
			return uid, nil
		}
	}
	return 0, failed(protocol.CauseUnknown, fmt.Sprintf("no user from %d to %d is free for the engine; end what runs under these numbers, or widen the range", first, last))
}

// users are those of all other shards, the stopped ones too until they are
// forgotten. It is called with the lock held, within change.
func (l *ledger) users(but string) map[int]bool {
	out := map[int]bool{}
	for id, e := range l.st.Shards {
		if id != but && e.UID != 0 {
			out[e.UID] = true
		}
	}
	return out
}

// userOf is whom a shard's engine runs as: in the group of all engines, for their
// weights, and in those of the devices it was given.
func (a *Agent) userOf(e entry) process.User {
	if e.UID == 0 {
		return process.User{}
	}
	u := process.User{UID: e.UID, GID: e.UID, Groups: []int{a.cfg.UserMin}}
	if len(e.Shard.Devices) > 0 {
		u.Groups = append(u.Groups, process.DeviceGroups()...)
	}
	return u
}

// makeCUDAFiles sees to it that an engine which is not root finds what CUDA wants.
// Whether it can do without, it will say itself.
func (a *Agent) makeCUDAFiles(ctx context.Context) {
	err := process.MakeCUDAFiles(ctx)
	a.apart.mu.Lock()
	defer a.apart.mu.Unlock()
	if err != nil && !a.apart.toldCUDA && ctx.Err() == nil {
		a.apart.toldCUDA = true
		a.cfg.Logger.Warn("engines may find no GPU", "err", err)
	}
}

// groupName is the name of a shard's cgroup; without a shard, how the names of all
// of this agent's begin.
func (a *Agent) groupName(id string) string {
	name := "llmgw-" + strings.TrimSuffix(a.marks, ".") + "-"
	if id != "" {
		name += hashed(id)[:16]
	}
	return name
}

// memoryLimit is what a shard's group may use, in bytes: what was reserved, and a
// tenth more, 512 MiB at least. A reservation says what an engine needs at work;
// the limit is there for one that grows without end, and leaves the first some
// room to be wrong in. Zero: nothing was reserved, so nothing bounds it.
func memoryLimit(reservedMB int64) int64 {
	if reservedMB <= 0 {
		return 0
	}
	return (reservedMB + max(reservedMB/10, 512)) << 20
}

// environment adds what programs want to find, and the engine did not set: some
// look themselves up by their user's number, which has no name.
func environment(own []string, dir string) []string {
	out := slices.Clone(own)
	for _, v := range []string{"HOME=" + dir, "TMPDIR=" + dir, "USER=llmgw", "LOGNAME=llmgw"} {
		key, _, _ := strings.Cut(v, "=")
		if !slices.ContainsFunc(own, func(o string) bool { return strings.HasPrefix(o, key+"=") }) {
			out = append(out, v)
		}
	}
	return out
}

// openWeights lets engines read weights that the agent fetched, and not write
// them. Files of others are as these made them.
func (a *Agent) openWeights(path string) error {
	in, err := filepath.Rel(a.cfg.WeightsDirs[0], path)
	if err != nil {
		return err
	}
	if !filepath.IsLocal(in) {
		return nil
	}
	for at := path; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil {
			return err
		}
		wants := fs.FileMode(0o040)
		if info.IsDir() {
			wants = 0o050
		}
		open := info.Mode().Perm()&(wants>>3) == wants>>3
		if !open && info.Mode()&fs.ModeSymlink == 0 {
			if err := errors.Join(os.Chown(at, -1, a.cfg.UserMin), os.Chmod(at, info.Mode().Perm()|wants)); err != nil {
				return err
			}
		}
		if at == a.cfg.WeightsDirs[0] {
			return nil
		}
	}
}
