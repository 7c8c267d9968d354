package hub

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// ask is a question to one agent, until it is answered.
type ask struct {
	id       string
	node     inventory.NodeID
	kind     protocol.AskKind
	args     json.RawMessage
	deadline time.Time
	// run is the agent's that it was handed to. Empty: it waits for a poll.
	run string

	// begun is closed when the answer begins, or it is known that none comes.
	begun chan struct{}
	once  sync.Once
	err   error
	// in is where the answer is read from, out where it is written to. unread is closed
	// when nobody reads it any more.
	in     *io.PipeReader
	out    *io.PipeWriter
	unread chan struct{}
	left   sync.Once
}

// leave says that nobody reads the answer any more.
func (a *ask) leave() {
	a.left.Do(func() {
		_ = a.in.CloseWithError(errReaderGone)
		close(a.unread)
	})
}

func (a *ask) wire() protocol.Ask {
	return protocol.Ask{ID: a.id, Kind: a.kind, Deadline: a.deadline, Args: a.args}
}

// begin says that the answer begins. It reports false when that was said before.
func (a *ask) begin(err error) (first bool) {
	a.once.Do(func() {
		first, a.err = true, err
		close(a.begun)
	})
	return first
}

// fail ends the answer, whether it has begun or not.
func (a *ask) fail(err error) {
	a.begin(err)
	_ = a.out.CloseWithError(err)
}

// Ask puts one question to a node's agent and decodes its answer, one JSON
// value, into out; within is how long the agent may take. Errors match ErrNoNode,
// ErrAway, ErrBusy, ErrRefused or ErrTimeout.
func (h *Hub) Ask(ctx context.Context, node inventory.NodeID, kind protocol.AskKind, args any, within time.Duration, out any) error {
	a, err := h.question(ctx, node, kind, args, within)
	if err != nil {
		return err
	}
	// The agent ends by itself at the deadline; what it says then is still heard.
	ctx, cancel := context.WithTimeoutCause(ctx, within+h.cfg.Limits.AskWait, fmt.Errorf("%w: %s took more than %s for %s", ErrTimeout, node, within, kind))
	defer cancel()
	defer h.forget(a)
	defer a.leave()
	if err := h.await(ctx, a, within+h.cfg.Limits.AskWait); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { a.fail(context.Cause(ctx)) })()
	data, err := io.ReadAll(io.LimitReader(a.in, maxAnswer+1))
	switch {
	case err != nil:
		return err
	case len(data) > maxAnswer:
		return fmt.Errorf("%w: %s answers %s with more than %d MiB", ErrRefused, node, kind, maxAnswer>>20)
	case depth(data) > maxDepth:
		return fmt.Errorf("%w: the answer of %s to %s nests too deeply", ErrRefused, node, kind)
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("%w: the answer of %s to %s cannot be read; is the agent's version near that of the control plane?", ErrRefused, node, kind)
	}
	return nil
}

// Scan has a node's agent walk the fabric of one of its ports. Errors are Ask's.
// The map is a stranger's text: whoever reads it bounds it.
func (h *Hub) Scan(ctx context.Context, node inventory.NodeID, args protocol.ScanArgs) (protocol.ScanResult, error) {
	var out protocol.ScanResult
	err := h.Ask(ctx, node, protocol.AskScan, args, protocol.ScanTime, &out)
	out.Error, out.By = text(out.Error, maxText), text(out.By, maxName)
	out.TookMS = min(max(out.TookMS, 0), protocol.ScanTime.Milliseconds())
	return out, err
}

// maxAnswer bounds an answer that is one value, in bytes. It may be larger than
// a frame where the agent sends it as a stream.
const maxAnswer = 16 << 20

// question makes a question to an agent that can be asked, and puts it.
func (h *Hub) question(ctx context.Context, node inventory.NodeID, kind protocol.AskKind, args any, within time.Duration) (*ask, error) {
	data, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	if err := h.canAsk(node, kind); err != nil {
		return nil, err
	}
	a := &ask{id: rand.Text(), node: node, kind: kind, args: data, deadline: time.Now().Add(within), begun: make(chan struct{}), unread: make(chan struct{})}
	if d, ok := ctx.Deadline(); ok && d.Before(a.deadline) {
		a.deadline = d
	}
	a.in, a.out = io.Pipe()
	return a, h.put(a)
}

// Logs asks a node's agent for a log and returns its stream, which the caller
// closes. It is cleaned of control characters and bounded in time and bytes.
// Errors are Ask's, or match ErrNoLog; while it is read, they match ErrAway when the agent or the
// node goes away.
func (h *Hub) Logs(ctx context.Context, node inventory.NodeID, args protocol.LogsArgs) (io.ReadCloser, error) {
	a, err := h.question(ctx, node, protocol.AskLogs, args, h.cfg.Limits.LogTime)
	if err != nil {
		return nil, err
	}
	if err := h.await(ctx, a, h.cfg.Limits.AskWait); err != nil {
		h.forget(a)
		a.leave() // an answer may just have begun
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { a.fail(ctx.Err()) })
	// The agent ends by itself at the deadline; one that does not is cut off.
	late := time.AfterFunc(time.Until(a.deadline)+h.cfg.Limits.AskWait, func() {
		a.fail(fmt.Errorf("%w: the log of %s goes on beyond its time", ErrTimeout, node))
	})
	return &logStream{r: io.LimitReader(a.in, h.cfg.Limits.LogBytes), close: func() {
		stop()
		late.Stop()
		h.forget(a)
		a.leave()
	}}, nil
}

var errReaderGone = errors.New("hub: nobody reads the answer any more")

// canAsk says at once what would otherwise be found out by waiting.
func (h *Hub) canAsk(node inventory.NodeID, kind protocol.AskKind) error {
	n := h.cfg.Registry.Snapshot().Node(node)
	switch {
	case n == nil:
		return fmt.Errorf("%w: %s", ErrNoNode, node)
	case !h.Connected(node):
		return fmt.Errorf("%w: %s; look whether its machine and its agent run", ErrAway, node)
	case !slices.Contains(n.Facts.Features, string(kind)):
		return fmt.Errorf("%w: the agent of %s is too old to be asked for %s; upgrade it", ErrRefused, node, kind)
	}
	return nil
}

func (h *Hub) put(a *ask) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[a.node]
	if s == nil {
		return fmt.Errorf("%w: %s; look whether its machine and its agent run", ErrAway, a.node)
	}
	waiting := 0
	for _, other := range h.asks {
		if other.node == a.node {
			waiting++
		}
	}
	if waiting >= h.cfg.Limits.Asks {
		return fmt.Errorf("%w: %s; close a log that is followed, or wait", ErrBusy, a.node)
	}
	h.asks[a.id] = a
	s.queue = append(s.queue, a)
	s.rouse()
	return nil
}

// await waits until the answer begins.
func (h *Hub) await(ctx context.Context, a *ask, patience time.Duration) error {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-a.begun:
		return a.err
	case <-late.C:
		return fmt.Errorf("%w: %s took more than %s", ErrTimeout, a.node, patience)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// lose ends the asks that an earlier run of the node's agent was handed: nobody will
// answer them. It is called with the hub's lock held.
func (h *Hub) lose(node inventory.NodeID, run string) {
	for _, a := range h.asks {
		if a.node == node && a.run != "" && run != "" && a.run != run {
			a.fail(fmt.Errorf("%w: the agent of %s was started anew before it had answered; ask again", ErrAway, node))
		}
	}
}

func (h *Hub) forget(a *ask) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.asks, a.id)
	if s := h.sessions[a.node]; s != nil {
		s.queue = slices.DeleteFunc(s.queue, func(q *ask) bool { return q == a })
	}
}

// refusalOf is what an agent's refusal matches.
func refusalOf(code string) error {
	switch code {
	case protocol.CodeLimited:
		return ErrBusy
	case protocol.CodeNoLog:
		return ErrNoLog
	}
	return ErrRefused
}

// Answer takes an agent's answer; stream is nil unless it is one. It blocks
// while the stream is read. An answer to what nobody asks is refused. A stream that
// is an io.Closer is closed when nobody reads it any more, which must end a read of
// it with errReaderGone: a log may be quiet for long.
func (h *Hub) Answer(ctx context.Context, node inventory.NodeID, ans protocol.Answer, stream io.Reader) error {
	h.mu.Lock()
	a := h.asks[ans.ID]
	h.mu.Unlock()
	if a == nil || a.node != node {
		return refuse(protocol.CodeInvalid, "nobody waits for this answer; it was asked for too long ago")
	}
	if !ans.OK {
		a.fail(fmt.Errorf("%w: %s: %s", refusalOf(ans.Code), node, text(ans.Error, maxText)))
		return nil
	}
	if !a.begin(nil) {
		return refuse(protocol.CodeInvalid, "this question was answered before")
	}
	if stream == nil {
		if _, err := a.out.Write(ans.Result); err != nil && !errors.Is(err, errReaderGone) {
			return err
		}
		return a.out.Close()
	}
	stop := context.AfterFunc(ctx, func() { _ = a.out.CloseWithError(fmt.Errorf("%w: %s went away", ErrAway, node)) })
	defer stop()
	defer a.whenUnread(stream)()
	_, err := io.Copy(a.out, stream)
	if errors.Is(err, errReaderGone) {
		return nil
	}
	if err != nil {
		a.fail(fmt.Errorf("%w: %s went away while it answered", ErrAway, node))
		return err
	}
	return a.out.Close()
}

// whenUnread closes a stream when nobody reads it any more, until the end of it is
// called.
func (a *ask) whenUnread(stream io.Reader) (end func()) {
	c, ok := stream.(io.Closer)
	if !ok {
		return func() {}
	}
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-a.unread:
			_ = c.Close() // whoever sends it is told by that
		case <-over:
		}
	}()
	return func() { close(over); <-done }
}

// logStream takes control characters out of what an agent sends: it ends up in
// somebody's terminal.
type logStream struct {
	r     io.Reader
	close func()
	last  byte
}

// Read is io.Reader's.
func (l *logStream) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	for i, c := range p[:n] {
		switch {
		case c < ' ' && c != '\n' && c != '\t' || c == 0x7f:
			p[i] = ' '
		case l.last == 0xc2 && c >= 0x80 && c < 0xa0:
			p[i] = 0xa0 // U+0080 to U+009F, of which one is the other escape: a space too
		}
		l.last = c
	}
	return n, err
}

// Close tells the agent to stop.
func (l *logStream) Close() error {
	l.close()
	return nil
}
