package hub

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

const (
	// PathHealth answers anybody that the listener is there, and nothing else.
	PathHealth = "/healthz"
	// bodyTime is how long a body may take to arrive, and an answer to be taken.
	bodyTime = 30 * time.Second
	// maxRequest bounds what a machine sends to join or to renew, in bytes.
	maxRequest = 64 << 10
	// maxDepth is how deep a body may nest.
	maxDepth = 64
)

// Handler serves agents. It expects the TLS side that TLS makes: who calls is
// taken from the connection, and only the routes that join and tell the health
// are open to a caller without a certificate.
func (h *Hub) Handler() http.Handler {
	r := chi.NewRouter()
	r.Use(impatient)
	r.Get(PathHealth, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	r.Post(protocol.PathJoin, h.serveJoin)
	r.Post(protocol.PathRenew, h.serveRenew)
	r.Post(protocol.PathBeat, h.known(h.serveBeat))
	r.Post(protocol.PathSync, h.known(h.serveSync))
	r.Post(protocol.PathAnswers, h.known(h.serveAnswer))
	return r
}

// impatient bounds what the server does by itself, also for strangers, and has
// no limit for: it waits for what no handler read of a body, and for its caller
// to take what is left of the answer.
func impatient(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		_ = rc.SetReadDeadline(time.Now().Add(bodyTime))
		_ = rc.SetWriteDeadline(time.Time{}) // of the connection's last answer
		next.ServeHTTP(w, r)
		answerSoon(w)
	})
}

// answerSoon bounds how long an answer is waited for to be taken.
func answerSoon(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(bodyTime))
}

// caller is who a request is from.
type caller struct {
	node inventory.NodeID
	peer netip.Addr
	// session is the node's from before it was looked up whether it is revoked:
	// one that is revoked later is cut. Nil where nobody is identified.
	session *session
}

func (h *Hub) serveBeat(w http.ResponseWriter, r *http.Request, c caller) {
	var b protocol.Beat
	if !read(w, r, protocol.MaxFrame, &b) {
		return
	}
	ans, err := h.beat(r.Context(), c, b)
	h.write(w, c, ans, err)
}

func (h *Hub) serveSync(w http.ResponseWriter, r *http.Request, c caller) {
	var s protocol.Sync
	if !read(w, r, protocol.MaxFrame, &s) {
		return
	}
	ans, err := h.sync(r.Context(), c, s)
	h.write(w, c, ans, err)
}

func (h *Hub) serveAnswer(w http.ResponseWriter, r *http.Request, c caller) {
	if r.Header.Get(protocol.HeaderStream) != "" {
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // a log that is followed is quiet for long
		ans := protocol.Answer{ID: chi.URLParam(r, "id"), OK: true}
		h.write(w, c, struct{}{}, h.Answer(r.Context(), c.node, ans, &body{of: r.Body, rc: http.NewResponseController(w)}))
		return
	}
	var ans protocol.Answer
	if !read(w, r, protocol.MaxFrame, &ans) {
		return
	}
	ans.ID = chi.URLParam(r, "id")
	h.write(w, c, struct{}{}, h.Answer(r.Context(), c.node, ans, nil))
}

// body is one that is a stream. Its Close ends a read of it, for which the body's own
// would wait.
type body struct {
	of     io.Reader
	rc     *http.ResponseController
	closed atomic.Bool
}

// Read is io.Reader's.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.of.Read(p)
	if err != nil && b.closed.Load() {
		err = errReaderGone
	}
	return n, err
}

// Close is io.Closer's.
func (b *body) Close() error {
	b.closed.Store(true)
	return b.rc.SetReadDeadline(time.Now())
}

// read decodes a body within its bounds. Keys that are not known are ignored:
// the agent may be newer. It has answered when it reports false.
func read(w http.ResponseWriter, r *http.Request, limit int64, into any) bool {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTime))
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err == nil {
		_ = rc.SetReadDeadline(time.Time{}) // else the wait for the caller's end would run into it
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		reply(w, http.StatusRequestEntityTooLarge, refuse(protocol.CodeTooLarge, fmt.Sprintf("the message is larger than %d bytes; report fewer weights, or split what is asked", limit)))
		return false
	case err != nil:
		reply(w, http.StatusBadRequest, refuse(protocol.CodeInvalid, "the message did not arrive whole; send it again"))
		return false
	case depth(data) > maxDepth:
		reply(w, http.StatusBadRequest, refuse(protocol.CodeInvalid, "the message nests too deeply; is this an agent of llmgw?"))
		return false
	}
	if err := json.Unmarshal(data, into); err != nil {
		reply(w, http.StatusBadRequest, refuse(protocol.CodeInvalid, "the message is no JSON of this wire; is the agent's version near that of the control plane?"))
		return false
	}
	return true
}

// depth is how deep JSON nests, without decoding it.
func depth(data []byte) (deepest int) {
	now, inString := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return deepest
}

// write answers with a body, or with the refusal that the error is.
func (h *Hub) write(w http.ResponseWriter, c caller, body any, err error) {
	if err == nil {
		reply(w, http.StatusOK, body)
		return
	}
	var refusal *protocol.Error
	if !errors.As(err, &refusal) {
		h.log.Warn("an agent's request failed", "node", c.node, "err", err)
		refusal = refuse(protocol.CodeInternal, "the control plane could not do this; its log says why")
	}
	reply(w, statusOf(refusal.Code), refusal)
}

func reply(w http.ResponseWriter, status int, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written","code":"internal"}`)
	}
	answerSoon(w)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data)
}

func statusOf(code string) int {
	switch code {
	case protocol.CodeInvalid:
		return http.StatusBadRequest
	case protocol.CodeTooLarge:
		return http.StatusRequestEntityTooLarge
	case protocol.CodeRevoked, protocol.CodeForbidden, protocol.CodeUsed, protocol.CodeExpired:
		return http.StatusForbidden
	case protocol.CodeNameTaken:
		return http.StatusConflict
	case protocol.CodeNotLeader:
		return http.StatusMisdirectedRequest
	case protocol.CodeLimited:
		return http.StatusTooManyRequests
	case protocol.CodeNotReady:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
