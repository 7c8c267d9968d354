// Package simengine is a stand-in engine: it speaks the OpenAI API as an engine does, computes nothing, and has a
// temper that can be set, from the time it takes to load to the ways in which it fails.
//
// It is for demonstrations, tests and load tests. It is no model: it repeats the prompt or a word. It never passes for a
// real engine: its models are owned by "simulated", and so says the fingerprint of every answer. Its flags, metrics and
// errors bear vLLM's names, so that a real engine can take its place.
//
// llmgw-agent runs it as sim-engine, and with --as vllm as a stand-in for vLLM that the real driver starts; tests mount an [Engine] as an http.Handler.
//
// All methods of an [Engine] are safe to call at once. It waits on timers only, so it keeps the time of a
// testing/synctest bubble.
//
// Start reading at engine.go, then at generate.go.
package simengine
