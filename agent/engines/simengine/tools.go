package simengine

import (
	"encoding/json"
	"fmt"

	"llmgw.io/llmgw/router/openai"
)

type tool struct {
	Function struct {
		Name       string `json:"name"`
		Parameters schema `json:"parameters"`
	} `json:"function"`
}

// schema is the part of a JSON schema that an invented argument needs.
type schema struct {
	Type       string            `json:"type"`
	Enum       []any             `json:"enum"`
	Properties map[string]schema `json:"properties"`
	Items      *schema           `json:"items"`
}

// UnmarshalJSON reads a schema and takes what is no object for one that allows anything.
func (s *schema) UnmarshalJSON(b []byte) error {
	type plain schema
	if json.Unmarshal(b, (*plain)(s)) != nil {
		*s = schema{}
	}
	return nil
}

// example makes a value that fits a schema, always the same.
func (s schema) example() any {
	if len(s.Enum) > 0 {
		return s.Enum[0]
	}
	switch s.Type {
	case "object":
		all := map[string]any{}
		for name, p := range s.Properties {
			all[name] = p.example()
		}
		return all
	case "array":
		if s.Items == nil {
			return []any{}
		}
		return []any{s.Items.example()}
	case "integer", "number":
		return 1
	case "boolean":
		return true
	case "null":
		return nil
	}
	return "simulated"
}

// toolCalls gives the calls that the engine answers with: the function that was asked for, or the first one, or the
// first two where parallel calls are asked for. A result of a tool is answered with text.
func toolCalls(b body) []openai.ToolCall {
	var word string
	var named struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if len(b.ToolChoice) > 0 && json.Unmarshal(b.ToolChoice, &word) != nil && json.Unmarshal(b.ToolChoice, &named) != nil {
		return nil
	}
	n := len(b.Messages)
	if word == "none" || n == 0 || b.Messages[n-1].Role == "tool" {
		return nil
	}
	most := 1
	if b.Parallel {
		most = 2
	}
	var calls []openai.ToolCall
	for _, t := range b.Tools {
		f := t.Function
		if len(calls) == most || named.Function.Name != "" && named.Function.Name != f.Name {
			continue
		}
		f.Parameters.Type = "object"
		args, err := json.Marshal(f.Parameters.example())
		if err != nil {
			args = []byte("{}")
		}
		i := len(calls)
		calls = append(calls, openai.ToolCall{Index: i, ID: fmt.Sprintf("call-sim-%d", i), Name: f.Name, Arguments: string(args)})
	}
	return calls
}

// callSteps cuts calls into tokens: the first of each has its name, the others pieces of its arguments.
func callSteps(calls []openai.ToolCall) []step {
	var steps []step
	for _, c := range calls {
		first := c
		first.Arguments = ""
		steps = append(steps, step{call: &first})
		for _, piece := range split(c.Arguments) {
			steps = append(steps, step{call: &openai.ToolCall{Index: c.Index, Arguments: piece}})
		}
	}
	return steps
}
