package simengine

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// fault is an error answer in the form that vLLM gives it.
type fault struct {
	status  int
	kind    string
	message string
}

// The faults that need no details.
var (
	loading      = fault{http.StatusServiceUnavailable, "unavailable_error", "Loading model"}
	unauthorised = fault{http.StatusUnauthorized, "authentication_error", "Invalid API Key"}
	stopping     = fault{http.StatusServiceUnavailable, "ServiceUnavailableError", "The engine is shutting down"}
	queueFull    = fault{http.StatusTooManyRequests, "TooManyRequestsError", "The waiting queue is full"}
	inBand       = fault{http.StatusInternalServerError, "InternalServerError", "The simulated engine failed in the middle of the answer"}
)

func badRequest(format string, args ...any) *fault {
	return &fault{http.StatusBadRequest, "BadRequestError", fmt.Sprintf(format, args...)}
}

func noModel(name string) *fault {
	return &fault{http.StatusNotFound, "NotFoundError", fmt.Sprintf("The model `%s` does not exist.", name)}
}

func tooLong(limit, prompt, output int) *fault {
	return badRequest("This model's maximum context length is %d tokens. However, your request has %d input tokens plus %d 'max_tokens'. Reduce either.", limit, prompt, output)
}

// atOnce gives the fault of a failure that answers before anything is done.
func (f Failure) atOnce(model string, t Temper) *fault {
	switch f {
	case FailRateLimit:
		return &fault{http.StatusTooManyRequests, "rate_limit_error", "Rate limit reached (simulated)"}
	case FailServerError:
		return &fault{http.StatusInternalServerError, "InternalServerError", "Internal server error (simulated)"}
	case FailInvalidKey:
		return &unauthorised
	case FailContextLength:
		return tooLong(t.MaxModelLen, t.MaxModelLen, 1)
	case FailInvalid:
		return badRequest("Invalid request (simulated)")
	case FailModelNotFound:
		return noModel(model)
	}
	return nil
}

func (f fault) body() []byte {
	b, err := json.Marshal(map[string]any{"error": map[string]any{"message": f.message, "type": f.kind, "param": nil, "code": f.status}})
	if err != nil { // texts and numbers always encode
		panic(err)
	}
	return b
}

func (f fault) write(w http.ResponseWriter) {
	if f.status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	writeJSON(w, f.status, f.body())
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body)
}

// keyed reports whether a path is behind the key. vLLM has much before it.
func (e *Engine) keyed(path string) bool {
	return !e.cfg.AsVLLM || strings.HasPrefix(path, "/v1") || strings.HasPrefix(path, "/v2") || strings.HasPrefix(path, "/inference")
}

// authorised compares the key in the same time whatever it is.
func (e *Engine) authorised(r *http.Request) bool {
	if e.cfg.APIKey == "" {
		return true
	}
	key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		key = r.Header.Get("X-Api-Key")
	}
	got, want := sha256.Sum256([]byte(key)), sha256.Sum256([]byte(e.cfg.APIKey))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}
