package llmgw

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"llmgw.io/llmgw/placement/reconciler"
	"llmgw.io/llmgw/placement/replay"
	"llmgw.io/llmgw/storage"
	"llmgw.io/llmgw/storage/journalfile"
)

// journalDir is where decisions are kept, in the data folder.
const journalDir = "journal"

// wireJournal opens the journal of the data folder, unless one was given or none
// is wanted.
func (c *ControlPlane) wireJournal(context.Context) error {
	keep := time.Duration(c.cfg.Settings.Limits.Journal)
	if c.cfg.Journal != nil || c.cfg.DataDir == "" || keep < 0 {
		return nil
	}
	j, err := journalfile.Open(journalfile.Config{Dir: filepath.Join(c.cfg.DataDir, journalDir), Retain: keep, Logger: c.logger})
	if err != nil {
		return fmt.Errorf("open the journal of decisions: %w; mend its folder, or keep none with limits.journal: -1", err)
	}
	c.journal, c.cfg.Journal = j, j
	return nil
}

func (c *ControlPlane) closeJournal() error {
	if c.journal == nil {
		return nil
	}
	return c.journal.Close()
}

// ReplayConfig says which journal to replay.
type ReplayConfig struct {
	// Path is a journal's folder, one file of it, or the data folder of a control
	// plane. Required. It is only read, also while its control plane runs.
	Path string
	// Reconciler decides again. The zero value is the default one, as this version
	// has it; an embedder's own filters, scorers and floor are not in the journal.
	Reconciler reconciler.Reconciler
}

// ReplayJournal decides again all that a journal has, and reports what would be
// decided otherwise. A path that is not there, or holds no journal, is an error;
// entries that cannot be used are in the report.
func ReplayJournal(ctx context.Context, cfg ReplayConfig) (replay.Report, error) {
	path := cfg.Path
	if info, err := os.Stat(filepath.Join(path, journalDir)); err == nil && info.IsDir() {
		path = filepath.Join(path, journalDir)
	}
	var fatal error
	report := replay.Run(func(yield func([]byte, error) bool) {
		for e, err := range journalfile.Read(ctx, path) {
			if err != nil && !errors.Is(err, storage.ErrTorn) {
				fatal = err
				return
			}
			if !yield(e.Data, err) {
				return
			}
		}
	}, cfg.Reconciler)
	if fatal == nil && report.Entries == 0 {
		fatal = fmt.Errorf("%s holds no entries; name the folder of a journal, as %s in a data folder", path, journalDir)
	}
	if fatal != nil {
		return report, fmt.Errorf("replay a journal: %w", fatal)
	}
	return report, nil
}
