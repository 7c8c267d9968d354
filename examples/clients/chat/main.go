// Command chat sends one streamed chat completion to an OpenAI-compatible
// address with the public OpenAI SDK, and prints the answer as it comes.
//
// It is a module of its own, so that users of the library do not inherit the
// SDK. It knows nothing of llmgw: any program that speaks to OpenAI works the
// same way.
//
//	OPENAI_BASE_URL=http://127.0.0.1:8080/v1 OPENAI_API_KEY=sk-llmgw-… \
//	    go run ./chat -model tiny "Say something"
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/openai/openai-go/v3"
)

func main() {
	model := flag.String("model", "tiny", "the model to ask")
	tokens := flag.Int64("max-tokens", 32, "the most tokens to answer with")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	prompt := strings.Join(flag.Args(), " ")
	if prompt == "" {
		prompt = "Say something."
	}
	if err := chat(ctx, *model, prompt, *tokens); err != nil {
		fmt.Fprintln(os.Stderr, "chat:", err)
		os.Exit(1)
	}
}

// chat streams one answer to standard output and tells on standard error which
// request it was and what was counted.
func chat(ctx context.Context, model, prompt string, tokens int64) error {
	client := openai.NewClient() // OPENAI_BASE_URL and OPENAI_API_KEY
	stream := client.Chat.Completions.NewStreaming(ctx, openai.ChatCompletionNewParams{
		Model:               model,
		Messages:            []openai.ChatCompletionMessageParamUnion{openai.UserMessage(prompt)},
		MaxCompletionTokens: openai.Int(tokens),
		StreamOptions:       openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	})
	defer stream.Close()
	finish := ""
	for stream.Next() {
		event := stream.Current()
		for _, choice := range event.Choices {
			fmt.Print(choice.Delta.Content)
			if choice.FinishReason != "" {
				finish = choice.FinishReason
			}
		}
		if event.Usage.TotalTokens > 0 {
			fmt.Fprintf(os.Stderr, "\n[%d prompt tokens, %d answered]\n", event.Usage.PromptTokens, event.Usage.CompletionTokens)
		}
	}
	fmt.Println()
	if err := stream.Err(); err != nil {
		return err
	}
	if finish == "" {
		return errors.New("the stream ended without a finish reason")
	}
	return nil
}
