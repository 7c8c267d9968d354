package openai

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// ErrorType is the kind of an error that a client is sent.
type ErrorType string

// The types of errors.
const (
	InvalidRequest ErrorType = "invalid_request_error"
	Authentication ErrorType = "authentication_error"
	Permission     ErrorType = "permission_error"
	NotFound       ErrorType = "not_found_error"
	RateLimit      ErrorType = "rate_limit_error"
	BudgetExceeded ErrorType = "budget_exceeded"
	Overloaded     ErrorType = "overloaded_error"
	Upstream       ErrorType = "upstream_error"
	ServerError    ErrorType = "server_error"
)

// Status gives the HTTP status that goes with the type.
func (t ErrorType) Status() int {
	switch t {
	case InvalidRequest:
		return 400
	case Authentication:
		return 401
	case Permission:
		return 403
	case NotFound:
		return 404
	case RateLimit, BudgetExceeded:
		return 429
	case Overloaded:
		return 503
	case Upstream:
		return 502
	}
	return 500
}

// Valid reports whether t is one of the types.
func (t ErrorType) Valid() bool {
	return t == ServerError || t.Status() != 500
}

// Error is an error in the form that clients of the API know.
type Error struct {
	Type    ErrorType
	Message string
	// Param is the member of the request that is wrong; empty is sent as null.
	Param string
	// Code is a machine's word for the case, such as "model_not_found"; empty is sent as null.
	Code string
}

// Error gives the message.
func (e Error) Error() string { return e.Message }

// Append appends the JSON object {"error": …}.
func (e Error) Append(dst []byte) []byte {
	dst = AppendString(append(dst, `{"error":{"message":`...), e.Message)
	dst = AppendString(append(dst, `,"type":`...), string(e.Type))
	dst = appendOrNull(append(dst, `,"param":`...), e.Param)
	dst = appendOrNull(append(dst, `,"code":`...), e.Code)
	return append(dst, "}}"...)
}

// AppendEvent appends the error as an event of a stream, for when the answer has begun and its status is spent.
func (e Error) AppendEvent(dst []byte) []byte {
	return append(e.Append(append(dst, "data: "...)), "\n\n"...)
}

func appendOrNull(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return AppendString(dst, s)
}

// EngineError is what an engine said went wrong, in its own words.
type EngineError struct {
	// Type is the engine's own type; empty when it gave none.
	Type string
	// Message is its text; never empty.
	Message string
	Param   string
	// Code is the engine's code as text, "400" or "model_not_found" alike; empty when it gave none.
	Code string
}

// engineBody covers the forms that engines use: the error as an object, as a text, and, from older ones, its members at
// the top level: with "object":"error", or beside a type or a code.
type engineBody struct {
	Error   json.RawMessage `json:"error"`
	Object  string          `json:"object"`
	Message string          `json:"message"`
	Type    string          `json:"type"`
	Param   json.RawMessage `json:"param"`
	Code    json.RawMessage `json:"code"`
	Detail  json.RawMessage `json:"detail"`
}

// ReadError reads an engine's error, from the body of an answer or from the data of an event. It is false when there is
// none in it. The caller bounds the body.
func ReadError(body []byte) (EngineError, bool) {
	var b engineBody
	if json.Unmarshal(bytes.TrimSpace(body), &b) != nil {
		return EngineError{}, false
	}
	var inner engineBody
	var text string
	switch {
	case json.Unmarshal(b.Error, &text) == nil && text != "":
		return EngineError{Message: text, Type: b.Type, Code: plain(b.Code)}, true
	case json.Unmarshal(b.Error, &inner) == nil && inner.Message != "":
		return inner.error(), true
	case b.Message != "" && (b.Object == "error" || b.Type != "" || len(b.Code) > 0):
		return b.error(), true
	case len(b.Detail) > 0 && string(b.Detail) != "null":
		return EngineError{Message: plain(b.Detail)}, true
	}
	return EngineError{}, false
}

func (b engineBody) error() EngineError {
	return EngineError{Type: b.Type, Message: b.Message, Param: plain(b.Param), Code: plain(b.Code)}
}

// plain gives a string's text, and any other value as it is written; null is empty.
func plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// Translate gives the error that a client is sent for an engine's error with the given status, and whether another
// replica might do better. The engine's own words stay, because they tell the client what to change; those about our
// side of it (a wrong engine key, a path that the engine lacks) are replaced. With status 200, as for an error within a
// stream, the error's own code stands for the status where it is one.
func (e EngineError) Translate(status int) (out Error, retry bool) {
	if code, err := strconv.Atoi(e.Code); err == nil && status == 200 {
		status = code
	}
	out = Error{Message: e.Message, Param: e.Param}
	switch {
	case status == 400 || status == 413 || status == 422 || clientsFault(e.Message):
		out.Type = InvalidRequest
		if e.Type == "exceed_context_size_error" || strings.Contains(e.Message, "maximum context length") {
			out.Code = "context_length_exceeded"
		}
	case status == 429:
		out.Type, retry = RateLimit, true
	case status == 503:
		out.Type, retry = Overloaded, true
	case status == 501:
		out.Type = InvalidRequest
	case status == 401 || status == 403 || status == 404 || status == 405:
		out = Error{Type: Upstream, Message: "The engine refused the router's request; ask the operator to look at the replica."}
		retry = true
	default:
		out.Type, retry = Upstream, true
	}
	return out, retry
}

// clientsFault knows the errors that llama-server answers with 500 though the request is at fault.
func clientsFault(message string) bool {
	for _, part := range [...]string{"is too large to process", "image input is not supported", "audio input is not supported"} {
		if strings.Contains(message, part) {
			return true
		}
	}
	return false
}
