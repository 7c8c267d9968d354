package simcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"llmgw.io/llmgw"
	"llmgw.io/llmgw/placement/fleetsim"
	"llmgw.io/llmgw/placement/replay"
	"llmgw.io/llmgw/storage"
	"llmgw.io/llmgw/storage/journalfile"
)

// retain keeps the journal of a run for as long as its folder stands: nobody but
// whoever made it decides when it goes.
const retain = 100 * 365 * 24 * time.Hour

// journal writes passes down the way a control plane does.
type journal struct {
	ctx     context.Context //nolint:containedctx // a run is told of passes by a function without one
	file    *journalfile.Journal
	encoder replay.Encoder
	err     error
}

func openJournal(ctx context.Context, dir string) (*journal, error) {
	file, err := journalfile.Open(journalfile.Config{Dir: dir, Retain: retain})
	if err != nil {
		return nil, badInput("the journal cannot be written: %v; give --journal a folder that may be made", err)
	}
	return &journal{ctx: ctx, file: file, encoder: replay.Encoder{Redact: storage.Redact}}, nil
}

// note keeps a pass, unless one before could not be kept.
func (j *journal) note(p fleetsim.Pass) {
	if j.err != nil {
		return
	}
	e, worth, err := j.encoder.Encode(replay.Pass{
		Epoch: p.Epoch, World: p.World, Memory: p.Memory, Plan: p.Plan, After: p.After, Outcome: replay.Outcome(p.Outcome),
	})
	if err == nil && worth {
		kind := storage.JournalChange
		if e.Base {
			kind = storage.JournalBase
		}
		err = j.file.AppendJournal(j.ctx, storage.JournalEntry{At: e.At, Epoch: e.Epoch, Kind: kind, Data: e.Data})
	}
	if err != nil {
		j.err = fmt.Errorf("the run is not in the journal from %s on: %w", p.World.Now.Format(time.RFC3339), err)
	}
}

func (j *journal) close() error { return errors.Join(j.err, j.file.Close()) }

// again decides anew what a journal has. Differences are an answer and no fault,
// but whoever compares two versions wants to know without reading.
func again(ctx context.Context, out io.Writer, path string) error {
	report, err := llmgw.ReplayJournal(ctx, llmgw.ReplayConfig{Path: path})
	if err != nil {
		return badInput("%v", err)
	}
	if _, err := fmt.Fprint(out, report); err != nil {
		return err
	}
	if report.Differing > 0 {
		return &failure{code: 1, text: fmt.Sprintf("%d of %d passes would be decided otherwise", report.Differing, report.Passes)}
	}
	return nil
}
