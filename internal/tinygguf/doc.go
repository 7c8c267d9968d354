// Package tinygguf writes small GGUF files that llama.cpp really loads: a
// random-weight "llama" model with a word vocabulary and a chat template, and
// LoRA adapters for it.
//
// They are for tests and demonstrations of what fetches, runs and measures
// models. It is no general GGUF writer, and what a model says is noise by
// design, except for the words it was told to prefer. Tests, the demonstration
// script and the command in scripts/tinygguf call it; no binary does.
//
// Everything here is safe to call at once, on different paths. The same
// Options give the same bytes. Start reading at Options and Write.
//
// How a random model is made to say words: every token's embedding holds a
// constant in its first dimension, which no layer reads or writes. After the
// last norm it is still there, so the first column of the output matrix acts
// as a bias for each token. Raw bytes and half words get a low one, so they
// appear only where a grammar asks for them (JSON schema, tool calls).
package tinygguf
