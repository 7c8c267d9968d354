// Command tour does what programs do with the public OpenAI SDK: chat, streams,
// tools, embeddings, leaving early, and meeting errors. It says in one line of
// JSON what each came to, and ends at the first that fails.
//
// It wants the models tiny, tools and vectors; a model slow that says "at last"
// after a long time; and a model broken whose engine breaks off after the word
// "half". The end-to-end tests serve them.
//
//	OPENAI_BASE_URL=http://127.0.0.1:8080/v1 OPENAI_API_KEY=sk-llmgw-… go run ./tour
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// saw is what one stop of the tour came to.
type saw struct {
	Check string `json:"check"`
	// Request is its id; empty when it is of no interest.
	Request string `json:"request,omitempty"`
	// Prompt and Completion are the tokens that the client was told; 0 when none.
	Prompt     int64 `json:"prompt,omitempty"`
	Completion int64 `json:"completion,omitempty"`
	// Cancelled is true when the client left before the end.
	Cancelled bool `json:"cancelled,omitempty"`
}

func main() {
	ctx := context.Background()
	client := openai.NewClient(option.WithMaxRetries(0)) // OPENAI_BASE_URL and OPENAI_API_KEY
	for _, stop := range stops {
		s, err := stop.visit(ctx, &client)
		if err != nil {
			fmt.Fprintf(os.Stderr, "tour: %s: %v\n", stop.name, err)
			os.Exit(1)
		}
		s.Check = stop.name
		line, err := json.Marshal(s)
		if err != nil {
			fmt.Fprintln(os.Stderr, "tour:", err)
			os.Exit(1)
		}
		fmt.Println(string(line))
	}
}

var stops = []struct {
	name  string
	visit func(context.Context, *openai.Client) (saw, error)
}{
	{"models", models},
	{"chat", chat},
	{"stream", stream},
	{"stream with usage", streamWithUsage},
	{"tools", tools},
	{"streamed tools", streamedTools},
	{"embeddings", embeddings},
	{"abort", abort},
	{"unknown model", unknownModel},
	{"wrong key", wrongKey},
	{"slow stream", slowStream},
	{"broken stream", brokenStream},
}
