package simengine

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"llmgw.io/llmgw/router/openai"
)

// writer sends one answer: as events while it is made, or whole at its end.
type writer struct {
	openai.Writer
	w      http.ResponseWriter
	stream bool
	chat   bool
	buf    []byte
}

func (e *Engine) writerFor(w http.ResponseWriter, j *job) *writer {
	out := &writer{w: w, stream: j.req.Stream, chat: j.at == openai.Chat}
	prefix := "cmpl"
	if out.chat {
		prefix = "chatcmpl"
	}
	out.Writer = openai.Writer{ID: fmt.Sprintf("%s-sim-%d", prefix, e.ids.Add(1)), Model: j.req.Model, Created: time.Now().Unix(), Fingerprint: fingerprint}
	return out
}

// begin sends the header of a stream and the roles of its choices.
func (o *writer) begin(j *job) {
	if !o.stream {
		return
	}
	o.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	o.w.Header().Set("Cache-Control", "no-cache")
	for i := range j.choices {
		if o.chat {
			o.buf = o.ChatRole(o.buf, i)
		}
	}
	o.flush()
}

func (o *writer) step(index int, s step) {
	switch {
	case !o.stream:
	case s.call != nil:
		o.buf = o.ChatTool(o.buf, index, *s.call)
	case o.chat:
		o.buf = o.ChatText(o.buf, index, s.text)
	default:
		o.buf = o.Text(o.buf, index, s.text, "")
	}
}

func (o *writer) finish(index int, reason string) {
	switch {
	case !o.stream:
	case o.chat:
		o.buf = o.ChatFinish(o.buf, index, reason)
	default:
		o.buf = o.Text(o.buf, index, "", reason)
	}
}

// flush sends what is gathered. An error means that the client left, which the context tells as well.
func (o *writer) flush() {
	if !o.stream {
		return
	}
	if len(o.buf) > 0 {
		o.w.Write(o.buf)
		o.buf = o.buf[:0]
	}
	http.NewResponseController(o.w).Flush()
}

// end sends what closes an answer.
func (o *writer) end(j *job) {
	if !o.stream {
		writeJSON(o.w, http.StatusOK, o.whole(j))
		return
	}
	if j.req.IncludeUsage {
		if o.chat {
			o.buf = o.ChatUsage(o.buf, j.usage())
		} else {
			o.buf = o.TextUsage(o.buf, j.usage())
		}
	}
	o.buf = openai.AppendDone(o.buf)
	o.flush()
}

func (o *writer) whole(j *job) []byte {
	choices := make([]openai.Choice, len(j.choices))
	for i, c := range j.choices {
		choices[i] = c.whole(i)
	}
	if o.chat {
		return o.Chat(nil, choices, j.usage())
	}
	return o.Completion(nil, choices, j.usage())
}

// fault puts an error into an answer whose status is 200 already.
func (o *writer) fault(f fault) {
	if !o.stream {
		writeJSON(o.w, http.StatusOK, f.body())
		return
	}
	o.buf = append(append(append(o.buf, "data: "...), f.body()...), "\n\n"...)
	o.flush()
}

// cut sends half of an answer that is not streamed; of a stream, all is sent that there is.
func (o *writer) cut(j *job) {
	if o.stream {
		return
	}
	body := o.whole(j)
	o.w.Header().Set("Content-Type", "application/json")
	o.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	o.w.Write(body[:len(body)/2])
	http.NewResponseController(o.w).Flush()
}
