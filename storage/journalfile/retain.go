package journalfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// retain drops files that nobody wrote to for as long as entries are kept, and
// then the oldest while all together are too large. The newest one stays. It is
// asked whenever a file is begun.
func (j *Journal) retain(now time.Time) {
	names, err := files(j.cfg.Dir)
	if err != nil || len(names) == 0 {
		return
	}
	names = names[:len(names)-1]
	total, dropped := int64(0), 0
	over := false // and so is all that is older
	for i := len(names) - 1; i >= 0; i-- {
		path := filepath.Join(j.cfg.Dir, names[i])
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		total += info.Size()
		over = over || now.Sub(info.ModTime()) > j.cfg.Retain || total > j.cfg.MaxBytes
		if !over {
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			j.log.Warn("an old file of the journal could not be removed", "err", err)
			continue
		}
		dropped++
	}
	if dropped > 0 {
		j.log.Info("old files of the journal are dropped", "files", dropped)
	}
}
