package ctl

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/mattn/go-isatty"
	"github.com/schollz/progressbar/v3"
)

// progress shows how far a wait is: a bar on a terminal, and elsewhere a line
// whenever something changed, so that logs stay short.
type progress struct {
	out   io.Writer
	model string
	bar   *progressbar.ProgressBar // nil where there is no terminal
	last  string
}

func newProgress(out io.Writer, model string) *progress {
	p := &progress{out: out, model: printable(model)}
	if f, ok := out.(*os.File); ok && isatty.IsTerminal(f.Fd()) {
		p.bar = progressbar.NewOptions(100,
			progressbar.OptionSetWriter(out), progressbar.OptionSetWidth(30), progressbar.OptionThrottle(50*time.Millisecond),
			progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(true), progressbar.OptionClearOnFinish())
	}
	return p
}

// show tells how far it is.
func (p *progress) show(l look) {
	step, percent := stepOf(l)
	if p.bar != nil {
		p.bar.Describe(p.model + ": " + step)
		_ = p.bar.Set(min(99, percent)) // at 100 the bar would end itself
		return
	}
	if percent > 0 {
		step = fmt.Sprintf("%s, %d%%", step, percent/10*10)
	}
	p.line(step)
}

// line prints what differs from the line before.
func (p *progress) line(s string) {
	if s == p.last {
		return
	}
	p.last = s
	fmt.Fprintf(p.out, "%s: %s\n", p.model, s)
}

// finish says how it ended; a bad end is the error's to tell.
func (p *progress) finish(l look, err error) {
	p.close()
	if err != nil {
		return
	}
	switch {
	case l.model.External != "":
		p.line("served by " + printable(l.model.External))
	case l.model.ReadyReplicas == 0:
		p.line("runs on demand, and nobody asks for it now")
	default:
		p.line(fmt.Sprintf("ready, %d of %d replicas", l.model.ReadyReplicas, l.model.DesiredReplicas))
	}
}

func (p *progress) close() {
	if p.bar != nil {
		_ = p.bar.Finish()
		p.bar = nil
	}
}

// stepOf is what a model is waiting for, and how far its weights are.
func stepOf(l look) (step string, percent int) {
	states := map[string]int{}
	for _, r := range l.replicas {
		states[r.State]++
	}
	done, total := fetched(l.replicas)
	switch {
	case states["fetching"] > 0 && total > 0:
		return "fetching " + humanize.IBytes(uint64(max(0, total))), int(min(100, done*100/total))
	case states["fetching"] > 0:
		return "fetching", 0
	case states["starting"] > 0:
		return "starting", 0
	case l.model.Unplaceable:
		return "no node has room; explain " + printable(l.model.Name) + " says why", 0
	case l.model.Failures > 0:
		return fmt.Sprintf("failed %d times, and is tried again: %s", l.model.Failures, printable(l.model.Reason)), 0
	case states["pending"] > 0:
		return "placed", 0
	}
	return "waiting to be placed", 0
}
