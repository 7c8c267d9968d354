package openai

import "strconv"

// Writer makes answers as an engine does, for simulations and tests: the same arguments give the same bytes. Every
// method appends to dst and returns it.
type Writer struct {
	// ID is the answer's own, such as "chatcmpl-1".
	ID string
	// Model is the name the engine serves under.
	Model string
	// Created is in seconds since 1970.
	Created int64
	// Fingerprint is the system_fingerprint; left out when empty.
	Fingerprint string
}

// Choice is one choice of an answer that is not streamed, or the whole of one that is.
type Choice struct {
	Index int
	// Text is the answer's text; with tool calls and no text, content is null.
	Text      string
	ToolCalls []ToolCall
	// FinishReason is "stop", "length" or "tool_calls".
	FinishReason string
}

// ToolCall is one call of a function.
type ToolCall struct {
	// Index tells parallel calls of a stream apart.
	Index int
	ID    string
	Name  string
	// Arguments are JSON as a text; of a stream, a piece of it.
	Arguments string
}

// head appends what every object of the answer begins with, up to and including the comma.
func (w Writer) head(dst []byte, object string) []byte {
	dst = AppendString(append(dst, `{"id":`...), w.ID)
	dst = AppendString(append(dst, `,"object":`...), object)
	dst = strconv.AppendInt(append(dst, `,"created":`...), w.Created, 10)
	dst = AppendString(append(dst, `,"model":`...), w.Model)
	if w.Fingerprint != "" {
		dst = AppendString(append(dst, `,"system_fingerprint":`...), w.Fingerprint)
	}
	return append(dst, ',')
}

// AppendDone appends the event that ends a stream.
func AppendDone(dst []byte) []byte { return append(dst, "data: [DONE]\n\n"...) }

// usageEvent appends an event that has no choices and a usage.
func (w Writer) usageEvent(dst []byte, object string, u Usage) []byte {
	dst = w.head(append(dst, "data: "...), object)
	dst = appendUsage(append(dst, `"choices":[],"usage":`...), u)
	return append(dst, "}\n\n"...)
}

// endChoice appends a choice's finish reason and closes it.
func endChoice(dst []byte, reason string) []byte {
	dst = appendOrNull(append(dst, `,"finish_reason":`...), reason)
	return append(dst, '}')
}
