package discovery

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"llmgw.io/llmgw/inventory"
)

// localKinds are file systems on this machine's own disks that weights may stand
// on. What the kernel makes up, what lies over others and what is in memory is
// none of them, and neither is firmware's, whose files are small.
var localKinds = []string{"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "jfs", "ntfs3", "exfat"}

// mostDisks bounds the report.
const mostDisks = 64

// errNoFolder says that a mount is of one file, as containers have them.
var errNoFolder = errors.New("discovery: it is no folder")

// listDisks lists the file systems that weights may stand on, each once, in the
// order of their places; those of the folders of weights in any case. known is the
// room that was asked already, failed what did not answer and was said, by device.
func (p *Prober) listDisks(ctx context.Context, known map[string]diskRoom, failed map[string]bool) ([]inventory.Disk, error) {
	all, err := p.mounts()
	if err != nil {
		return nil, nil //nolint:nilerr // who asked for the folders of weights said it
	}
	list := candidates(all, known)
	var errs []error
	if len(list) > mostDisks {
		errs = append(errs, fmt.Errorf("there are more than %d file systems; the rest is left out", mostDisks))
		list = list[:mostDisks]
	}
	// At once: each may take its time not to answer.
	rooms, asked := make([]diskRoom, len(list)), make([]error, len(list))
	var wait sync.WaitGroup
	for i, m := range list {
		r, ok := known[m.device]
		rooms[i] = r
		if ok || failed[m.device] {
			continue
		}
		wait.Go(func() { rooms[i], asked[i] = p.roomOfFolder(ctx, m) })
	}
	wait.Wait()
	out := []inventory.Disk{}
	for i, m := range list {
		switch {
		case errors.Is(asked[i], errNoFolder), failed[m.device]:
		case asked[i] != nil:
			errs = append(errs, asked[i])
		case rooms[i].total > 0:
			out = append(out, inventory.Disk{
				Mount: m.at, Source: m.source, Type: m.kind, Shared: m.shared(), FreeMB: rooms[i].free >> 20, TotalMB: rooms[i].total >> 20,
			})
		}
	}
	return out, errors.Join(errs...)
}

// candidates are the mounts to look at: of each device the one with the shortest
// place, which is that of all of it more often than not.
func candidates(all []mount, known map[string]diskRoom) []mount {
	best := map[string]mount{}
	for _, m := range all {
		_, weights := known[m.device]
		if !weights && !m.shared() && !slices.Contains(localKinds, m.kind) {
			continue
		}
		if b, there := best[m.device]; !there || len(m.at) < len(b.at) {
			best[m.device] = m
		}
	}
	list := make([]mount, 0, len(best))
	for _, m := range best {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b mount) int {
		if c := strings.Compare(a.at, b.at); c != 0 {
			return c
		}
		return strings.Compare(a.device, b.device)
	})
	return list
}

func (p *Prober) roomOfFolder(ctx context.Context, m mount) (diskRoom, error) {
	return guarded(ctx, &p.slow, "the file system at "+m.at, func(context.Context) (diskRoom, error) {
		if info, err := os.Stat(m.at); err == nil && !info.IsDir() {
			return diskRoom{}, errNoFolder
		}
		return p.room(m.at)
	})
}
