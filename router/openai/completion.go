package openai

import "strconv"

const completionObject = "text_completion"

// Text appends an event of a streamed completion. An empty reason means that the choice goes on.
func (w Writer) Text(dst []byte, index int, text, reason string) []byte {
	dst = w.head(append(dst, "data: "...), completionObject)
	dst = appendTextChoice(append(dst, `"choices":[`...), Choice{Index: index, Text: text, FinishReason: reason})
	return append(dst, "]}\n\n"...)
}

// TextUsage appends the event with the usage: no choices.
func (w Writer) TextUsage(dst []byte, u Usage) []byte { return w.usageEvent(dst, completionObject, u) }

// Completion appends a whole answer.
func (w Writer) Completion(dst []byte, choices []Choice, u Usage) []byte {
	dst = append(w.head(dst, completionObject), `"choices":[`...)
	for i, c := range choices {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendTextChoice(dst, c)
	}
	return append(appendUsage(append(dst, `],"usage":`...), u), '}')
}

func appendTextChoice(dst []byte, c Choice) []byte {
	dst = strconv.AppendInt(append(dst, `{"index":`...), int64(c.Index), 10)
	dst = AppendString(append(dst, `,"text":`...), c.Text)
	return endChoice(append(dst, `,"logprobs":null`...), c.FinishReason)
}
