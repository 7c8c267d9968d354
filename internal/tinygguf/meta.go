package tinygguf

func (s *spec) meta() []kv {
	ftype := uint32(types[s.Type].ftype)
	m := []kv{
		{"general.architecture", "llama"},
		{"general.type", "model"},
		{"general.name", s.Name},
		{"general.description", "random weights, for tests"},
		{"general.file_type", ftype},
		{"general.quantization_version", uint32(2)},
		{"general.alignment", uint32(align)},
		{"llama.block_count", uint32(s.Layers)},
		{"llama.context_length", uint32(s.Context)},
		{"llama.embedding_length", uint32(s.Embd)},
		{"llama.feed_forward_length", uint32(s.FF)},
		{"llama.attention.head_count", uint32(s.Heads)},
		{"llama.attention.head_count_kv", uint32(s.KVHeads)},
		{"llama.attention.layer_norm_rms_epsilon", float32(1e-5)},
		{"llama.rope.dimension_count", uint32(s.Embd / s.Heads)},
		{"llama.rope.freq_base", float32(10000)},
		{"llama.vocab_size", uint32(len(s.vocab.tokens))},
	}
	if s.Pooling != "" {
		m = append(m, kv{"llama.pooling_type", uint32(poolings[s.Pooling])})
	}
	return append(m,
		kv{"tokenizer.ggml.model", "llama"},
		kv{"tokenizer.ggml.pre", "default"},
		kv{"tokenizer.ggml.tokens", s.vocab.tokens},
		kv{"tokenizer.ggml.scores", s.vocab.scores},
		kv{"tokenizer.ggml.token_type", s.vocab.kinds},
		kv{"tokenizer.ggml.bos_token_id", uint32(tokBOS)},
		kv{"tokenizer.ggml.eos_token_id", uint32(tokEnd)},
		kv{"tokenizer.ggml.unknown_token_id", uint32(tokUnk)},
		kv{"tokenizer.ggml.add_bos_token", true},
		kv{"tokenizer.ggml.add_eos_token", false},
		kv{"tokenizer.ggml.add_space_prefix", false},
		kv{"tokenizer.chat_template", s.template()},
	)
}

func (s *spec) template() string {
	if s.Tools {
		return toolTemplate
	}
	return chatTemplate
}

const chatTemplate = "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>' + '\n' }}{% endfor %}" +
	"{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"

const toolTemplate = `{%- if tools %}{{- '<|im_start|>system\n' }}{%- if messages[0].role == 'system' %}{{- messages[0].content + '\n' }}{%- endif %}` +
	`{{- 'tools:\n<tools>' }}{%- for t in tools %}{{- '\n' }}{{- t | tojson }}{%- endfor %}` +
	`{{- '\n</tools>\nreply with <tool_call>{"name": <function-name>, "arguments": <args-json-object>}</tool_call><|im_end|>\n' }}{%- endif %}` +
	`{%- for m in messages %}{%- if m.role == 'tool' %}{{- '<|im_start|>user\n<tool_response>\n' + m.content + '\n</tool_response><|im_end|>\n' }}` +
	`{%- elif not (tools and loop.first and m.role == 'system') %}{{- '<|im_start|>' + m.role }}{%- if m.content %}{{- '\n' + m.content }}{%- endif %}` +
	`{%- if m.tool_calls %}{%- set f = m.tool_calls[0].function %}` +
	`{{- '\n<tool_call>{"name": "' + f.name + '", "arguments": ' }}{{- f.arguments | tojson }}{{- '}</tool_call>' }}{%- endif %}` +
	`{{- '<|im_end|>\n' }}{%- endif %}{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}`
