// Command tinygguf writes small GGUF files that llama.cpp really loads: a
// random-weight model with a word vocabulary and a chat template, and LoRA
// adapters for it. They are for tests and demonstrations; what a model says is
// noise, except for the words it was told to prefer.
//
//	tinygguf -out tiny.gguf                          0.3 MB, says random words
//	tinygguf -out a.gguf -say alpha                  answers mostly "alpha"
//	tinygguf -out tiny.gguf -lora l.gguf -lora-say banana
//	                                                 and an adapter that makes it say "banana"
//	tinygguf -out t.gguf -tools                      calls a tool, where a request has some
//	tinygguf -out e.gguf -pooling mean               for llama-server --embeddings
//	tinygguf -out big.gguf -mb 500                   about 500 MB, really computed
//	tinygguf -out huge.gguf -mb 80000 -sparse        right header, holes for data
//	tinygguf -out s.gguf -mb 50 -split 3             s-00001-of-00003.gguf ...
//	tinygguf -out short.gguf -cut 1000               1,000 bytes are missing at the end
//
// The same flags and seed give the same bytes. People and scripts call it; the
// library is internal/tinygguf. Start reading at flags.go.
package main
