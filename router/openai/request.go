package openai

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrRequest is what every error about a request's body is, for errors.Is.
var ErrRequest = errors.New("openai: the request body cannot be served")

// RequestError says what is wrong with a body, in words for the person who sent it.
type RequestError struct {
	// Param is the member that is wrong, in OpenAI's sense; empty when the JSON itself is.
	Param string
	// Offset is the byte at which it was found, counted from 0; -1 when the trouble has no place.
	Offset int
	// Problem is what is wrong and what to do, without the offset, as it stands within a sentence.
	Problem string
}

// Error gives the sentence and, where there is one, the place.
func (e *RequestError) Error() string {
	if e.Offset < 0 {
		return e.Problem + "."
	}
	return fmt.Sprintf("%s (at byte %d).", e.Problem, e.Offset)
}

// Is makes every RequestError an ErrRequest.
func (e *RequestError) Is(target error) bool { return target == ErrRequest }

// Answer gives the error in the form that clients are sent: a sentence.
func (e *RequestError) Answer() Error {
	message := e.Error()
	return Error{Type: InvalidRequest, Message: strings.ToUpper(message[:1]) + message[1:], Param: e.Param}
}

// Limits bound a request. The zero value stands for the defaults.
type Limits struct {
	// MaxBytes is the longest body; 0 means 32 MiB.
	MaxBytes int
	// MaxDepth is the deepest nesting; 0 means 64.
	MaxDepth int
}

// Span is a range of bytes in a body: b[Start:End].
type Span struct{ Start, End int }

// InputKind says what form a prompt or an embedding's input has.
type InputKind uint8

// The forms of inputs.
const (
	// InputNone: the body has neither prompt nor input, or it is null.
	InputNone InputKind = iota
	// InputText is one string.
	InputText
	// InputTexts is a list of strings.
	InputTexts
	// InputTokens is one list of token ids.
	InputTokens
	// InputTokenLists is a list of lists of token ids.
	InputTokenLists
	// InputOther is anything else, such as parts with images; the engine judges it.
	InputOther
)

// Request is what the router needs to know of a body. The zero value is no request: Scan makes them.
type Request struct {
	// Model is the name asked for, unescaped; empty when the body has none.
	Model string
	// Stream is true when the body says so; absent and null are false.
	Stream bool
	// IncludeUsage is true when stream_options.include_usage is.
	IncludeUsage bool
	// N is the number of choices; 1 when the body does not say.
	N int
	// BestOf is how many completions the engine makes to choose from; 0 when the body does not say.
	BestOf int
	// MaxTokens is the limit in force: max_completion_tokens, else max_tokens, else -1 for none said.
	MaxTokens int
	// LimitsDiffer is true when both names were given different values. The newer name wins.
	LimitsDiffer bool
	// User is the end user that the client names; empty when it names none.
	User string
	// Messages is the number of messages of a chat; -1 when there is no such list.
	Messages int
	// Input is the form of prompt or input, Inputs how many prompts it holds, and InputTokens how many token ids.
	Input       InputKind
	Inputs      int
	InputTokens int

	present      Fields
	places       places
	open         int // offset of the body's opening brace
	members      int // top-level members, known or not
	options      Span
	optionsEmpty bool
	countsAlong  bool // the options ask for usage on every event, which is without effect while no usage is asked for
	usageValue   Span // value of include_usage; empty when absent
	older, newer int  // the two limits as given, -1 when absent
}

// Present gives the known fields that the body has.
func (r *Request) Present() Fields { return r.present }

// Choices is how many choices an answer has: those of each prompt.
func (r *Request) Choices() int { return r.N * max(1, r.prompts()) }

func (r *Request) prompts() int {
	if r.Has(FieldPrompt) && (r.Input == InputTexts || r.Input == InputTokenLists) {
		return r.Inputs
	}
	return 1
}

// Has reports whether the body has f, whatever its value.
func (r *Request) Has(f Field) bool { return r.present.Has(f) }

// Value gives the bytes of f's value in the body that was scanned; false when the body has no such member.
func (r *Request) Value(f Field) (Span, bool) {
	p := r.places.of(f)
	return Span{int(p.value), int(p.end)}, r.present.Has(f)
}

// Endpoint is a path of the API that takes a body.
type Endpoint string

// The endpoints.
const (
	Chat        Endpoint = "/v1/chat/completions"
	Completions Endpoint = "/v1/completions"
	Embeddings  Endpoint = "/v1/embeddings"
)

// Require checks that the body has what e cannot do without: a model, and messages, a prompt or an input. Everything
// else is for the engine to judge, so that no client is refused by us for what its engine takes.
func (r *Request) Require(e Endpoint) error {
	if r.Model == "" {
		return lacking("model", `the request names no model; add "model" (GET /v1/models lists them)`)
	}
	switch {
	case e == Chat && !r.Has(FieldMessages):
		return lacking("messages", `the request has no messages; add "messages"`)
	case e == Chat && r.Messages == 0:
		return lacking("messages", "the list of messages is empty; send at least one")
	case e == Completions && r.Input == InputNone && !r.Has(FieldPromptEmbeds):
		return lacking("prompt", `the request has no prompt; add "prompt"`)
	case e == Embeddings && (r.Input == InputNone || !r.Has(FieldInput)):
		return lacking("input", `the request has no input; add "input"`)
	}
	return nil
}

func lacking(param, problem string) error {
	return &RequestError{Param: param, Offset: -1, Problem: problem}
}

// parseCount reads a whole number that is not negative. JSON allows 16.0 and 1.6e1, which decoders read differently, so
// they are refused.
func parseCount(text []byte) (int, bool) {
	n, err := strconv.ParseInt(string(text), 10, 32)
	return int(n), err == nil && n >= 0 && text[0] != '-'
}
