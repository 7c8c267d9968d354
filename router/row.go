package router

import (
	"strconv"
	"time"

	"llmgw.io/llmgw/router/openai"
	"llmgw.io/llmgw/storage"
)

// appendRow appends a row as the JSON that encoding/json makes of it, without
// reflection: every request pays for this one.
func appendRow(dst []byte, r *storage.Request) []byte {
	dst = openai.AppendString(append(dst, `{"request_id":`...), r.ID)
	dst = append(dst, `,"at":"`...)
	dst = r.At.AppendFormat(dst, time.RFC3339Nano)
	dst = openai.AppendString(append(dst, `","key_id":`...), r.KeyID)
	dst = appendText(dst, "user_id", r.UserID)
	dst = openai.AppendString(append(dst, `,"project_id":`...), r.ProjectID)
	dst = openai.AppendString(append(dst, `,"model":`...), r.Model)
	dst = openai.AppendString(append(dst, `,"served_model":`...), r.ServedModel)
	dst = appendText(dst, "replica", r.Replica)
	dst = appendText(dst, "endpoint", r.Endpoint)
	dst = appendTrue(dst, "stream", r.Stream)
	dst = strconv.AppendInt(append(dst, `,"status":`...), int64(r.Status), 10)
	dst = openai.AppendString(append(dst, `,"outcome":`...), string(r.Outcome))
	dst = strconv.AppendInt(append(dst, `,"latency":`...), int64(r.Latency), 10)
	dst = appendNumber(dst, "queued", int64(r.Queued))
	dst = appendNumber(dst, "ttft", int64(r.FirstByte))
	dst = strconv.AppendInt(append(dst, `,"prompt_tokens":`...), r.PromptTokens, 10)
	dst = appendNumber(dst, "cached_tokens", r.CachedTokens)
	dst = strconv.AppendInt(append(dst, `,"completion_tokens":`...), r.CompletionTokens, 10)
	dst = appendTrue(dst, "estimated", r.Estimated)
	dst = strconv.AppendInt(append(dst, `,"cost_micros":`...), r.CostMicros, 10)
	dst = appendAttempts(dst, r.Attempts)
	dst = appendText(dst, "end_user", r.EndUser)
	return append(appendTags(dst, r.Tags), '}')
}

func appendAttempts(dst []byte, attempts []storage.Attempt) []byte {
	if len(attempts) == 0 {
		return dst
	}
	dst = append(dst, `,"attempts":[`...)
	for i, a := range attempts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = openai.AppendString(append(dst, `{"replica":`...), a.Replica)
		dst = appendText(dst, "model", a.Model)
		dst = appendNumber(dst, "status", int64(a.Status))
		dst = append(appendText(dst, "error", a.Error), '}')
	}
	return append(dst, ']')
}

func appendTags(dst []byte, tags map[string]string) []byte {
	if len(tags) == 0 {
		return dst
	}
	dst = append(dst, `,"tags":{`...)
	first := true
	for name, value := range tags {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(openai.AppendString(dst, name), ':')
		dst = openai.AppendString(dst, value)
	}
	return append(dst, '}')
}

func appendName(dst []byte, name string) []byte {
	dst = append(append(dst, `,"`...), name...)
	return append(dst, `":`...)
}

func appendText(dst []byte, name, s string) []byte {
	if s == "" {
		return dst
	}
	return openai.AppendString(appendName(dst, name), s)
}

func appendNumber(dst []byte, name string, n int64) []byte {
	if n == 0 {
		return dst
	}
	return strconv.AppendInt(appendName(dst, name), n, 10)
}

func appendTrue(dst []byte, name string, b bool) []byte {
	if !b {
		return dst
	}
	return append(appendName(dst, name), "true"...)
}
