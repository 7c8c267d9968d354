package router

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"llmgw.io/llmgw/router/openai"
	"llmgw.io/llmgw/storage"
)

// wholes are what answers that are no streams are read into. One that fits is
// sent only when it is whole, so that another replica can be asked until then.
var wholes = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}

// answer forwards an answer that is no stream.
func (t *try) answer(res *http.Response) *failure {
	room := wholes.Get().(*[]byte)
	defer wholes.Put(room)
	var probe openai.Probe
	n, err := t.fill(res.Body, *room)
	first := (*room)[:n]
	probe.Write(first)
	switch {
	case errors.Is(err, io.EOF):
		return t.whole(res, first, &probe)
	case err != nil:
		return t.interrupted("broke off", "The replica broke off in the middle of its answer; try again.")
	}
	return t.long(res, *room, &probe)
}

// fill reads until the room is full or the body ends.
func (t *try) fill(body io.Reader, room []byte) (n int, err error) {
	for n < len(room) && err == nil {
		var m int
		m, err = body.Read(room[n:])
		n += m
		if m > 0 && err == nil {
			t.w.progress(time.Now(), t.x.r.cfg.Limits.Idle)
		}
	}
	return n, err
}

func notWhole() *failure {
	return broken("not whole", "The replica's answer was not whole; try again.")
}

func (t *try) whole(res *http.Response, body []byte, probe *openai.Probe) *failure {
	if probe.Facts().Failed {
		f := engineFailure(http.StatusInternalServerError, nil, body, t.secrets()...)
		f.upstream = res.StatusCode
		return f
	}
	if !probe.Facts().Whole {
		return notWhole() // a connection that dies may look like the end of an answer
	}
	x := t.x
	x.answered(res, len(body), probe)
	t.head(res, int64(len(body)))
	x.shown = true
	_ = x.out.piece(body) // who is gone now missed an answer that was made for it
	x.out.close()
	return nil
}

// long forwards an answer that is larger than its room piece by piece. The row
// is written before the last one, where its length is known.
func (t *try) long(res *http.Response, room []byte, probe *openai.Probe) *failure {
	x := t.x
	t.head(res, res.ContentLength)
	x.shown = true
	piece, total := room, int64(0)
	for {
		total += int64(len(piece))
		if total == res.ContentLength {
			x.answered(res, int(total), probe)
		}
		if err := x.out.piece(piece); err != nil {
			return t.cutOff(probe, total, gone())
		}
		if total == res.ContentLength {
			break
		}
		n, err := t.fill(res.Body, room)
		piece = room[:n]
		probe.Write(piece)
		if errors.Is(err, io.EOF) && n == 0 {
			if !probe.Facts().Whole {
				return t.cutOff(probe, total, notWhole())
			}
			x.answered(res, int(total), probe)
			break
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return t.cutOff(probe, total, t.interrupted("broke off", "The replica broke off in the middle of its answer; try again."))
		}
	}
	x.out.close()
	return nil
}

// cutOff notes what an answer that was not whole had cost by then.
func (t *try) cutOff(probe *openai.Probe, bytes int64, f *failure) *failure {
	t.x.use(tallyOf(probe.Facts(), int(bytes)), false)
	return f
}

// head sends what an answer begins with: of the engine's headers only its type.
func (t *try) head(res *http.Response, length int64) {
	h := t.x.w.Header()
	h["Content-Type"] = []string{"application/json"}
	if ct := res.Header["Content-Type"]; len(ct) == 1 {
		h["Content-Type"] = ct
	}
	if length >= 0 {
		h["Content-Length"] = []string{strconv.FormatInt(length, 10)}
	}
	t.x.w.WriteHeader(http.StatusOK)
}

// answered settles an answer that was whole.
func (x *exchange) answered(res *http.Response, bytes int, probe *openai.Probe) {
	x.row.Status, x.row.Outcome = http.StatusOK, storage.OutcomeOK
	if x.row.FirstByte == 0 {
		x.row.FirstByte = time.Since(x.start)
	}
	x.use(tallyOf(probe.Facts(), bytes), true)
	x.settle("")
}

// tallyOf makes a whole answer's facts a stream's tally. Where the engine counted
// nothing, four bytes stand for a token.
func tallyOf(f openai.Facts, bytes int) *openai.Tally {
	return openai.TallyOf(f, int64(bytes/bytesPerToken))
}
