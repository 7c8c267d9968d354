package openai_test

import (
	"fmt"

	"llmgw.io/llmgw/router/openai"
)

// A client did not ask for usage, the router did: every event is passed on as it came but for the usage event.
func ExampleStream() {
	var s openai.Stream
	var sum openai.Tally
	for _, piece := range []string{
		"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: {\"choices\":[],\"usa",
		"ge\":{\"prompt_tokens\":5,\"completion_tokens\":1}}\n\nda", "ta: [DONE]\n\n",
	} {
		s.Feed([]byte(piece))
		for ev, ok := s.Next(); ok; ev, ok = s.Next() {
			if facts := sum.Add(&ev); !facts.UsageOnly() {
				fmt.Printf("%q\n", ev.Raw)
			}
		}
	}
	fmt.Println(sum.Usage.PromptTokens, "+", sum.Usage.CompletionTokens, "tokens, done:", sum.Done)
	// Output:
	// "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n"
	// "data: [DONE]\n\n"
	// 5 + 1 tokens, done: true
}

func ExampleRewrite() {
	body := []byte(`{"model":"chat", "stream":true, "priority":9, "temperature":0.70}`)
	req, err := openai.Scan(body, openai.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	edits := openai.Edits{Model: "llama-70b", Strip: openai.Steering, IncludeUsage: true}
	fmt.Printf("%s\n", openai.Rewrite(nil, body, &req, edits))
	// Output:
	// {"stream_options":{"include_usage":true},"model":"llama-70b", "stream":true, "temperature":0.70}
}
