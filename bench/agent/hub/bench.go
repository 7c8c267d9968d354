package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"

	"llmgw.io/llmgw/bench/agent/figure"
)

// bench is one run.
type bench struct {
	agents, changes     int
	settle, span, every time.Duration
	profile             string
}

func (b *bench) report(ctx context.Context, path string) (met bool, err error) {
	list, err := b.run(ctx)
	if err != nil {
		return false, err
	}
	return figure.Report(os.Stdout, path, list)
}

// hubProcess is the hub's, which does what it is told.
type hubProcess struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	listen string
}

func startHub(ctx context.Context, agents int) (*hubProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &hubProcess{cmd: exec.CommandContext(ctx, self, "-hub", "-agents", strconv.Itoa(agents))}
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.listen, err = p.line()
	return p, err
}

func (p *hubProcess) line() (string, error) {
	s, err := p.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("the hub's process says nothing: %w", err)
	}
	return s[:len(s)-1], nil
}

// tell has the hub do something, and waits until it is done.
func (p *hubProcess) tell(words ...any) (said string, err error) {
	if _, err := fmt.Fprintln(p.in, words...); err != nil {
		return "", err
	}
	return p.line()
}

func (p *hubProcess) end() {
	_ = p.in.Close()
	_ = p.cmd.Wait()
}

func (b *bench) run(ctx context.Context) ([]figure.Figure, error) {
	if err := enoughFiles(b.agents + 200); err != nil {
		return nil, err
	}
	p, err := startHub(ctx, b.agents)
	if err != nil {
		return nil, err
	}
	defer p.end()
	if _, err := p.tell("order"); err != nil {
		return nil, err
	}
	playing, stop := context.WithCancel(ctx)
	f := newFleet(p.listen, b.agents)
	defer f.done.Wait()
	defer stop()
	began := time.Now()
	f.start(playing)
	for here := 0; here < b.agents; here, _, _ = f.state() {
		if time.Since(began) > 2*time.Minute {
			return nil, fmt.Errorf("only %d agents came in two minutes: %w", here, f.problems())
		}
		pause(ctx, 100*time.Millisecond)
	}
	fmt.Fprintf(os.Stderr, "%d agents came within %s\n", b.agents, time.Since(began).Round(time.Second))
	if _, err := p.tell("order"); err != nil { // now that nodes are known, some of it is another
		return nil, err
	}
	pause(ctx, b.settle)
	f.forget()
	if b.profile != "" {
		if _, err := p.tell("profile", b.profile); err != nil {
			return nil, err
		}
	}
	list, err := b.beats(ctx, p, f)
	if err != nil {
		return nil, err
	}
	if b.profile != "" {
		if _, err := p.tell("profiled", b.profile+".heap"); err != nil {
			return nil, err
		}
	}
	more, err := b.moves(ctx, p, f)
	if err != nil {
		return nil, err
	}
	m, err := figure.PeakOf(p.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	_, _, failed := f.state()
	if failed > 0 {
		fmt.Fprintln(os.Stderr, f.problems())
	}
	return append(append(list, figure.Goal("hub: memory at its peak", m, 1024, "MiB")), append(more,
		figure.Goal("hub: beats and polls that failed", float64(failed), 0, ""))...), nil
}

// beats measures the hub while nothing but what always happens happens.
func (b *bench) beats(ctx context.Context, p *hubProcess, f *fleet) ([]figure.Figure, error) {
	before, err := figure.TimeOf(p.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	_, from, _ := f.state()
	pause(ctx, b.span)
	after, err := figure.TimeOf(p.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	took := time.Since(began).Seconds()
	_, to, _ := f.state()
	m, err := figure.MemoryOf(p.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(facts(0))
	if err != nil {
		return nil, err
	}
	return []figure.Figure{
		figure.Goal(fmt.Sprintf("hub: CPU in a second of beats of %d agents", b.agents), (after-before).Seconds()/took, 1, "s"),
		figure.Plain("hub: beats in a second", float64(to-from)/took, ""),
		figure.Plain("hub: facts of an agent", float64(len(body))/1024, "KiB"),
		figure.Plain("hub: memory at rest", m.RSS, "MiB"),
	}, nil
}

// moves measures how long a change takes to reach its agent.
func (b *bench) moves(ctx context.Context, p *hubProcess, f *fleet) ([]figure.Figure, error) {
	if _, err := p.tell("change", b.changes, int64(b.every)); err != nil {
		return nil, err
	}
	var spans []time.Duration
	for range 100 {
		if spans = f.seen(); len(spans) >= b.changes {
			break
		}
		pause(ctx, 100*time.Millisecond)
	}
	if len(spans) != b.changes {
		return nil, errors.Join(fmt.Errorf("%d of %d changes reached their agents", len(spans), b.changes), f.problems())
	}
	ms := func(hundredths float64) float64 {
		return float64(figure.Percentile(spans, hundredths).Microseconds()) / 1000
	}
	return []figure.Figure{
		figure.Goal(fmt.Sprintf("hub: a changed assignment reaches its agent, p99 of %d", b.changes), ms(99), 50, "ms"),
		figure.Plain("hub: the same, p50", ms(50), "ms"),
		figure.Plain("hub: the same, the slowest", ms(100), "ms"),
	}, nil
}
