package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

var errNotRefused = errors.New("it was not refused")

// ask is a question to a model, answered with at most so many tokens.
func ask(model string, tokens int64) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model: model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Say something.")}, MaxTokens: openai.Int(tokens),
	}
}

// withTool is a question that is to be answered with a call of a tool.
func withTool() openai.ChatCompletionNewParams {
	q := ask("tools", 200)
	q.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
		Name: "weather", Description: openai.String("Tells the weather in a city"),
		Parameters: openai.FunctionParameters{
			"type": "object", "required": []string{"city"},
			"properties": map[string]any{"city": map[string]any{"enum": []string{"Rome", "Oslo"}}},
		},
	})}
	q.ToolChoice.OfAuto = openai.String("required")
	return q
}

func id(r *http.Response) string { return r.Header.Get("X-Request-Id") }

func counted(r *http.Response, u openai.CompletionUsage) saw {
	return saw{Request: id(r), Prompt: u.PromptTokens, Completion: u.CompletionTokens}
}

func models(ctx context.Context, c *openai.Client) (saw, error) {
	var ids []string
	for pager := c.Models.ListAutoPaging(ctx); ; {
		if !pager.Next() {
			if err := pager.Err(); err != nil {
				return saw{}, err
			}
			break
		}
		ids = append(ids, pager.Current().ID)
	}
	if !slices.Contains(ids, "tiny") {
		return saw{}, fmt.Errorf("the models are %v", ids)
	}
	_, err := c.Models.Get(ctx, "tiny")
	return saw{}, err
}

func chat(ctx context.Context, c *openai.Client) (saw, error) {
	var r *http.Response
	got, err := c.Chat.Completions.New(ctx, ask("tiny", 5), option.WithResponseInto(&r))
	if err != nil {
		return saw{}, err
	}
	if got.Choices[0].Message.Content == "" || got.Choices[0].FinishReason != "length" {
		return saw{}, fmt.Errorf("the answer is %s", got.RawJSON())
	}
	return counted(r, got.Usage), nil
}

func stream(ctx context.Context, c *openai.Client) (saw, error) {
	var r *http.Response
	s := c.Chat.Completions.NewStreaming(ctx, ask("tiny", 5), option.WithResponseInto(&r))
	defer s.Close()
	var all openai.ChatCompletionAccumulator
	for s.Next() {
		if len(s.Current().Choices) != 1 || !all.AddChunk(s.Current()) {
			return saw{}, fmt.Errorf("a chunk is %s", s.Current().RawJSON())
		}
	}
	if s.Err() != nil || all.Choices[0].Message.Content == "" || all.Choices[0].FinishReason != "length" {
		return saw{}, fmt.Errorf("the answer is %+v: %w", all.Choices, s.Err())
	}
	return saw{Request: id(r), Completion: 5}, nil
}

func streamWithUsage(ctx context.Context, c *openai.Client) (saw, error) {
	q := ask("tiny", 5)
	q.StreamOptions.IncludeUsage = openai.Bool(true)
	return streamed(ctx, c, q, func(*openai.ChatCompletionAccumulator) bool { return true })
}

// streamed adds up a stream that ends with its usage.
func streamed(ctx context.Context, c *openai.Client, q openai.ChatCompletionNewParams, good func(*openai.ChatCompletionAccumulator) bool) (saw, error) {
	var r *http.Response
	s := c.Chat.Completions.NewStreaming(ctx, q, option.WithResponseInto(&r))
	defer s.Close()
	var all openai.ChatCompletionAccumulator
	usages := 0
	for s.Next() {
		all.AddChunk(s.Current())
		if s.Current().JSON.Usage.Valid() {
			usages++
		}
	}
	if s.Err() != nil || usages != 1 || !good(&all) {
		return saw{}, fmt.Errorf("%d usages, and the answer is %+v: %w", usages, all.Choices, s.Err())
	}
	return counted(r, all.Usage), nil
}

// isCall reports whether a message is one right call.
func isCall(name, arguments string) bool {
	var args struct{ City string }
	return name == "weather" && json.Unmarshal([]byte(arguments), &args) == nil && slices.Contains([]string{"Rome", "Oslo"}, args.City)
}

func tools(ctx context.Context, c *openai.Client) (saw, error) {
	var r *http.Response
	got, err := c.Chat.Completions.New(ctx, withTool(), option.WithResponseInto(&r))
	if err != nil {
		return saw{}, err
	}
	calls := got.Choices[0].Message.ToolCalls
	if len(calls) != 1 || !isCall(calls[0].Function.Name, calls[0].Function.Arguments) {
		return saw{}, fmt.Errorf("the answer is %s", got.RawJSON())
	}
	return counted(r, got.Usage), nil
}

func streamedTools(ctx context.Context, c *openai.Client) (saw, error) {
	q := withTool()
	q.StreamOptions.IncludeUsage = openai.Bool(true)
	return streamed(ctx, c, q, func(all *openai.ChatCompletionAccumulator) bool {
		calls := all.Choices[0].Message.ToolCalls
		return len(calls) == 1 && isCall(calls[0].Function.Name, calls[0].Function.Arguments)
	})
}

func embeddings(ctx context.Context, c *openai.Client) (saw, error) {
	var r *http.Response
	got, err := c.Embeddings.New(ctx, openai.EmbeddingNewParams{
		Model: "vectors", Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"one", "two"}},
	}, option.WithResponseInto(&r))
	if err != nil {
		return saw{}, err
	}
	if len(got.Data) != 2 || len(got.Data[1].Embedding) != 64 {
		return saw{}, fmt.Errorf("the answer is %s", got.RawJSON())
	}
	return saw{Request: id(r), Prompt: got.Usage.PromptTokens}, nil
}

func abort(ctx context.Context, c *openai.Client) (saw, error) {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	var r *http.Response
	s := c.Chat.Completions.NewStreaming(ctx, ask("tiny", 100_000), option.WithResponseInto(&r))
	defer s.Close()
	for range 5 {
		if !s.Next() {
			return saw{}, fmt.Errorf("the stream ended: %w", s.Err())
		}
	}
	return saw{Request: id(r), Cancelled: true}, nil
}

// refusal gives the error that a request is to end with.
func refusal(err error) (*openai.Error, error) {
	if err == nil {
		return nil, errNotRefused
	}
	e, ok := errors.AsType[*openai.Error](err)
	if !ok {
		return nil, err
	}
	return e, nil
}

func unknownModel(ctx context.Context, c *openai.Client) (saw, error) {
	_, err := c.Chat.Completions.New(ctx, ask("nobody", 5))
	e, err := refusal(err)
	if err != nil {
		return saw{}, err
	}
	if e.StatusCode != http.StatusNotFound || e.Type != "not_found_error" || e.Code != "model_not_found" || e.Param != "model" {
		return saw{}, fmt.Errorf("the error is %d %s", e.StatusCode, e.RawJSON())
	}
	return saw{}, nil
}

func wrongKey(ctx context.Context, c *openai.Client) (saw, error) {
	_, err := c.Chat.Completions.New(ctx, ask("tiny", 5), option.WithAPIKey("sk-nobody"))
	e, err := refusal(err)
	if err != nil {
		return saw{}, err
	}
	if e.StatusCode != http.StatusUnauthorized || e.Code != "invalid_api_key" {
		return saw{}, fmt.Errorf("the error is %d %s", e.StatusCode, e.RawJSON())
	}
	return saw{}, nil
}

func slowStream(ctx context.Context, c *openai.Client) (saw, error) {
	s := c.Chat.Completions.NewStreaming(ctx, ask("slow", 5))
	defer s.Close()
	text := ""
	for s.Next() {
		text += s.Current().Choices[0].Delta.Content
	}
	if s.Err() != nil || text != "at last" {
		return saw{}, fmt.Errorf("the answer is %q: %w", text, s.Err())
	}
	return saw{}, nil
}

func brokenStream(ctx context.Context, c *openai.Client) (saw, error) {
	s := c.Chat.Completions.NewStreaming(ctx, ask("broken", 5))
	defer s.Close()
	text := ""
	for s.Next() {
		text += s.Current().Choices[0].Delta.Content
	}
	if err := s.Err(); text != "half" || err == nil || !strings.Contains(err.Error(), "broke off") {
		return saw{}, fmt.Errorf("after %q the stream ended: %w", text, err)
	}
	return saw{}, nil
}
