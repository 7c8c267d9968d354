package simengine

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"

	"llmgw.io/llmgw/router/openai"
)

// body is what the engine reads of a request beside what a scan finds.
type body struct {
	Messages       []message       `json:"messages"`
	Prompt         json.RawMessage `json:"prompt"`
	Input          json.RawMessage `json:"input"`
	Tools          []tool          `json:"tools"`
	ToolChoice     json.RawMessage `json:"tool_choice"`
	Parallel       bool            `json:"parallel_tool_calls"`
	IgnoreEOS      bool            `json:"ignore_eos"`
	EncodingFormat string          `json:"encoding_format"`
}

type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// text gives the text of a message's content: a string, or parts of which some are text. Any other part counts as one
// token.
func (m message) text() string {
	var s string
	if json.Unmarshal(m.Content, &s) == nil {
		return s
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(m.Content, &parts) != nil {
		return ""
	}
	for _, p := range parts {
		if p.Type == "text" {
			s += p.Text
		} else {
			s += " <" + p.Type + ">"
		}
	}
	return s
}

// read takes a request's body apart, up to the check of its model.
func (e *Engine) read(w http.ResponseWriter, r *http.Request, at openai.Endpoint) (req openai.Request, b body, bad *fault) {
	const maxBody = 32 << 20
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return req, b, &fault{http.StatusRequestEntityTooLarge, "BadRequestError", "The body is larger than 32 MiB"}
		}
		return req, b, badRequest("The body could not be read")
	}
	if req, err = openai.Scan(raw, openai.Limits{}); err == nil {
		err = req.Require(at)
	}
	if err == nil {
		err = json.Unmarshal(raw, &b)
	}
	if err != nil {
		return req, b, badRequest("%s", err)
	}
	if !e.serves(req.Model) {
		return req, b, noModel(req.Model)
	}
	return req, b, nil
}

// serves reports whether the engine has a model or an adapter of this name.
func (e *Engine) serves(name string) bool {
	return slices.Contains(e.cfg.Models, name) || e.isAdapter(name)
}

func (e *Engine) isAdapter(name string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Contains(e.adapters, name)
}

// chatPrompt gives the tokens of a chat: each message with a mark for its role, and the mark that asks for an answer.
func chatPrompt(messages []message) []string {
	var tokens []string
	for _, m := range messages {
		tokens = append(tokens, "<|"+m.Role+"|>")
		tokens = append(tokens, split(m.text())...)
	}
	return append(tokens, "<|assistant|>")
}

// lastUser gives the text that an echo repeats.
func lastUser(messages []message) string {
	for _, m := range slices.Backward(messages) {
		if m.Role == "user" {
			return m.text()
		}
	}
	return ""
}

// prompts gives the prompts of a completion or the inputs of an embedding, as tokens: a text, a list of texts, a list of
// token ids, or a list of such lists.
func prompts(raw json.RawMessage) ([][]string, bool) {
	var text string
	var texts []string
	var ids []int
	var lists [][]int
	switch {
	case json.Unmarshal(raw, &text) == nil:
		return [][]string{split(text)}, true
	case json.Unmarshal(raw, &texts) == nil:
		all := make([][]string, len(texts))
		for i, s := range texts {
			all[i] = split(s)
		}
		return all, true
	case json.Unmarshal(raw, &ids) == nil:
		return [][]string{idTokens(ids)}, true
	case json.Unmarshal(raw, &lists) == nil:
		all := make([][]string, len(lists))
		for i, l := range lists {
			all[i] = idTokens(l)
		}
		return all, true
	}
	return nil, false
}

func idTokens(ids []int) []string {
	tokens := make([]string, len(ids))
	for i, id := range ids {
		tokens[i] = " " + strconv.Itoa(id)
	}
	return tokens
}
