package openai

import "strconv"

const (
	chatObject = "chat.completion"
	chatChunk  = "chat.completion.chunk"
)

// delta appends the beginning of a chunk up to the delta's value, and end what follows it.
func (w Writer) delta(dst []byte, index int) []byte {
	dst = w.head(append(dst, "data: "...), chatChunk)
	dst = strconv.AppendInt(append(dst, `"choices":[{"index":`...), int64(index), 10)
	return append(dst, `,"delta":`...)
}

func endDelta(dst []byte, reason string) []byte {
	return append(endChoice(dst, reason), "]}\n\n"...)
}

// ChatRole appends the event that begins a choice. It has a role and no content.
func (w Writer) ChatRole(dst []byte, index int) []byte {
	return endDelta(append(w.delta(dst, index), `{"role":"assistant","content":""}`...), "")
}

// ChatText appends an event with a piece of text.
func (w Writer) ChatText(dst []byte, index int, text string) []byte {
	dst = AppendString(append(w.delta(dst, index), `{"content":`...), text)
	return endDelta(append(dst, '}'), "")
}

// ChatTool appends an event with a piece of a tool call. ID and name are sent where they are not empty, which is on the
// first piece.
func (w Writer) ChatTool(dst []byte, index int, call ToolCall) []byte {
	dst = append(w.delta(dst, index), `{"tool_calls":[{"index":`...)
	dst = strconv.AppendInt(dst, int64(call.Index), 10)
	if call.ID != "" {
		dst = AppendString(append(dst, `,"id":`...), call.ID)
		dst = append(dst, `,"type":"function"`...)
	}
	dst = append(dst, `,"function":{`...)
	if call.Name != "" {
		dst = AppendString(append(dst, `"name":`...), call.Name)
		dst = append(dst, ',')
	}
	dst = AppendString(append(dst, `"arguments":`...), call.Arguments)
	return endDelta(append(dst, "}}]}"...), "")
}

// ChatFinish appends the event that ends a choice.
func (w Writer) ChatFinish(dst []byte, index int, reason string) []byte {
	return endDelta(append(w.delta(dst, index), "{}"...), reason)
}

// ChatUsage appends the event with the usage: no choices.
func (w Writer) ChatUsage(dst []byte, u Usage) []byte { return w.usageEvent(dst, chatChunk, u) }

// Chat appends a whole answer.
func (w Writer) Chat(dst []byte, choices []Choice, u Usage) []byte {
	dst = append(w.head(dst, chatObject), `"choices":[`...)
	for i, c := range choices {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(append(dst, `{"index":`...), int64(c.Index), 10)
		dst = append(dst, `,"message":{"role":"assistant","content":`...)
		if c.Text == "" && len(c.ToolCalls) > 0 {
			dst = append(dst, "null"...)
		} else {
			dst = AppendString(dst, c.Text)
		}
		dst = appendCalls(dst, c.ToolCalls)
		dst = endChoice(append(dst, '}'), c.FinishReason)
	}
	return append(appendUsage(append(dst, `],"usage":`...), u), '}')
}

func appendCalls(dst []byte, calls []ToolCall) []byte {
	if len(calls) == 0 {
		return dst
	}
	dst = append(dst, `,"tool_calls":[`...)
	for i, c := range calls {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendString(append(dst, `{"id":`...), c.ID)
		dst = AppendString(append(dst, `,"type":"function","function":{"name":`...), c.Name)
		dst = AppendString(append(dst, `,"arguments":`...), c.Arguments)
		dst = append(dst, "}}"...)
	}
	return append(dst, ']')
}
