package simengine_test

import (
	"encoding/json"
	"strings"
	"testing"

	"llmgw.io/llmgw/agent/engines/simengine"
	"llmgw.io/llmgw/router/openai"
)

func TestEcho(t *testing.T) {
	inWorld(t, simengine.Config{}, func(t *testing.T, w *world) {
		for _, text := range []string{"hello  there\nyou", "こんにちは、世界。これは長い文です。", "👩‍👩‍👧 naïve \"quoted\" \\ ☃", " lead", strings.Repeat("x", 100)} {
			for _, more := range []string{"", `,"stream":true`} {
				r := w.post(chatPath, chatBody(text, more))
				r.want(t, 200, `"system_fingerprint":"simulated"`, `"finish_reason":"stop"`)
				if got := r.text(t, 0); got != text {
					t.Errorf("%q comes back as %q", text, got)
				}
			}
		}
	})
}

func TestUsage(t *testing.T) {
	inWorld(t, simengine.Config{Temper: simengine.Temper{Say: "tok", OutputTokens: 8}}, func(t *testing.T, w *world) {
		r := w.post(chatPath, chatBody("one two", `,"max_tokens":5,"n":2`))
		r.want(t, 200, `"finish_reason":"length"`)
		want := openai.Usage{PromptTokens: 4, CompletionTokens: 10, TotalTokens: 14, CachedKnown: true}
		if f := r.facts(); f.Usage != want || f.Choices != 2 {
			t.Errorf("facts are %+v, want usage %+v", f, want)
		}
		if r.text(t, 1) != "tok tok tok tok tok " {
			t.Errorf("the second choice is %q", r.text(t, 1))
		}
		r = w.post(chatPath, chatBody("one two", `,"max_completion_tokens":5,"n":2,"stream":true,"stream_options":{"include_usage":true}`))
		if all := r.tally(); all.Usage != want || !all.Done || all.ContentEvents != 10 {
			t.Errorf("the stream is %+v, want usage %+v", all, want)
		}
		if r = w.post(chatPath, chatBody("one two", `,"stream":true`)); r.tally().Source != openai.UsageUnknown {
			t.Errorf("usage nobody asked for: %+v", r.tally())
		}
		r = w.post(chatPath, chatBody("x", `,"max_tokens":50,"ignore_eos":true`))
		if f := r.facts(); f.Usage.CompletionTokens != 50 || f.FinishReason != "length" {
			t.Errorf("ignore_eos gives %+v", f)
		}
	})
}

func TestCompletions(t *testing.T) {
	inWorld(t, simengine.Config{}, func(t *testing.T, w *world) {
		r := w.post("/v1/completions", `{"model":"m","prompt":["one two","three"]}`)
		r.want(t, 200, `"object":"text_completion"`)
		if r.text(t, 0) != "one two" || r.text(t, 1) != "three" || r.facts().Usage.TotalTokens != 6 {
			t.Errorf("answer is %s", r.body)
		}
		r = w.post("/v1/completions", `{"model":"m","prompt":[5,6],"stream":true,"stream_options":{"include_usage":true}}`)
		if all := r.tally(); r.text(t, 0) != " 5 6" || all.Usage.PromptTokens != 2 || all.FinishReason != "stop" {
			t.Errorf("stream is %s", r.body)
		}
		w.post("/v1/completions", `{"model":"m","prompt":[[1],[2,3]]}`).want(t, 200, `"prompt_tokens":3`)
	})
}

const tools = `,"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"city":{"enum":["Rome","Oslo"]},"days":{"type":"integer"},"list":{"type":"array","items":{"type":"boolean"}}}}}},{"type":"function","function":{"name":"time","parameters":true}}]`

func TestTools(t *testing.T) {
	type call struct {
		ID       string
		Index    int
		Function struct{ Name, Arguments string }
	}
	type part struct {
		Choices []struct {
			Delta, Message struct {
				ToolCalls []call `json:"tool_calls"`
			}
		}
	}
	inWorld(t, simengine.Config{}, func(t *testing.T, w *world) {
		r := w.post(chatPath, chatBody("x", tools))
		r.want(t, 200, `"finish_reason":"tool_calls"`, `"content":null`)
		var p part
		if err := json.Unmarshal([]byte(r.body), &p); err != nil {
			t.Fatal(err)
		}
		const args = `{"city":"Rome","days":1,"list":[true]}`
		if c := p.Choices[0].Message.ToolCalls; len(c) != 1 || c[0].Function.Name != "weather" || c[0].Function.Arguments != args {
			t.Errorf("calls are %+v", c)
		}
		r = w.post(chatPath, chatBody("x", tools+`,"parallel_tool_calls":true,"stream":true`))
		var s openai.Stream
		got := map[int]call{}
		s.Feed([]byte(r.body))
		for ev, ok := s.Next(); ok; ev, ok = s.Next() {
			var p part
			if ev.Kind != openai.KindData || json.Unmarshal(ev.Data(nil), &p) != nil {
				continue
			}
			for _, c := range p.Choices[0].Delta.ToolCalls {
				sum := got[c.Index]
				sum.ID += c.ID
				sum.Function.Name += c.Function.Name
				sum.Function.Arguments += c.Function.Arguments
				got[c.Index] = sum
			}
		}
		if len(got) != 2 || got[0].Function.Arguments != args || got[1].Function.Name != "time" || got[1].Function.Arguments != "{}" || got[0].ID == got[1].ID {
			t.Errorf("streamed calls are %+v", got)
		}
		w.post(chatPath, chatBody("x", tools+`,"tool_choice":{"type":"function","function":{"name":"time"}}`)).want(t, 200, `"name":"time"`)
		w.post(chatPath, chatBody("x", tools+`,"tool_choice":"none"`)).want(t, 200, `"finish_reason":"stop"`)
		answered := `{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[]},{"role":"tool","content":[{"type":"text","text":"sunny"}]}]` + tools + `}`
		w.post(chatPath, answered).want(t, 200, `"content":"hi"`)
	})
}

func TestAdapters(t *testing.T) {
	inWorld(t, simengine.Config{Adapters: []string{"cherry"}}, func(t *testing.T, w *world) {
		w.get("/v1/models").want(t, 200, `"id":"cherry"`, `"parent":"m"`)
		ask := `{"model":"cherry","messages":[{"role":"user","content":"x"}],"max_tokens":2}`
		w.post(chatPath, ask).want(t, 200, `"content":"cherry cherry "`)
		w.post("/v1/load_lora_adapter", `{"lora_name":"mango","lora_path":"/x"}`).want(t, 200, "Success")
		w.post("/v1/load_lora_adapter", `{"lora_name":"mango","lora_path":"/x"}`).want(t, 400, "already")
		w.post("/v1/load_lora_adapter", `{}`).want(t, 400)
		w.post(chatPath, strings.ReplaceAll(ask, "cherry", "mango")).want(t, 200, "mango mango")
		w.post("/v1/unload_lora_adapter", `{"lora_name":"mango"}`).want(t, 200, "Success")
		w.post("/v1/unload_lora_adapter", `{"lora_name":"mango"}`).want(t, 404)
		w.post(chatPath, strings.ReplaceAll(ask, "cherry", "mango")).want(t, 404)
	})
}

func TestEmbeddings(t *testing.T) {
	inWorld(t, simengine.Config{Temper: simengine.Temper{EmbeddingSize: 32}}, func(t *testing.T, w *world) {
		r := w.post("/v1/embeddings", `{"model":"m","input":["the quick fox","the quick dog","something else entirely"]}`)
		r.want(t, 200, `"prompt_tokens":9`)
		var got struct {
			Data []struct{ Embedding []float64 }
		}
		if err := json.Unmarshal([]byte(r.body), &got); err != nil || len(got.Data) != 3 || len(got.Data[0].Embedding) != 32 {
			t.Fatalf("answer is %s (%v)", r.body, err)
		}
		near := func(i, j int) (sum float64) {
			for k, f := range got.Data[i].Embedding {
				sum += f * got.Data[j].Embedding[k]
			}
			return sum
		}
		if near(0, 1) <= near(0, 2) || near(0, 0) < 0.99 || near(0, 0) > 1.01 {
			t.Errorf("nearness is %v to itself, %v to a like text, %v to another", near(0, 0), near(0, 1), near(0, 2))
		}
		w.post("/v1/embeddings", `{"model":"m","input":[1,2,3],"encoding_format":"base64"}`).want(t, 200, `"embedding":"`, `"prompt_tokens":3`)
	})
}

func TestSmallPaths(t *testing.T) {
	inWorld(t, simengine.Config{}, func(t *testing.T, w *world) {
		w.get("/version").want(t, 200, `"simulated"`)
		w.post("/tokenize", `{"prompt":"one two three"}`).want(t, 200, `"count":3`)
		w.post("/tokenize", `{"content":"one two"}`).want(t, 200, `"count":2`)
		w.post("/tokenize", `{"messages":[{"role":"user","content":"x"}]}`).want(t, 200, `"count":3`)
		w.post("/tokenize", `[`).want(t, 400)
		w.post("/admin/config", `{"say":"new","time_to_first_token":"15ms"}`).want(t, 200, `"say":"new"`, `"time_to_first_token":"15ms"`, `"max_num_seqs":5`)
		w.post(chatPath, chatBody("x", `,"max_tokens":1`)).want(t, 200, `"content":"new `)
		w.get("/admin/config").want(t, 200, `"15ms"`)
		w.get("/metrics").want(t, 200, "# TYPE vllm:time_to_first_token_seconds histogram",
			`vllm:time_to_first_token_seconds_bucket{model_name="m",engine="0",le="0.01"} 0`,
			`vllm:time_to_first_token_seconds_bucket{model_name="m",engine="0",le="0.02"} 1`,
			`vllm:request_success_total{model_name="m",engine="0",finished_reason="length"} 1`,
			`vllm:kv_cache_usage_perc{model_name="m",engine="0"} 0`, `vllm:generation_tokens_total{model_name="m",engine="0"} 1`)
	})
}
