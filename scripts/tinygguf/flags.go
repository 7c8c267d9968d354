package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"llmgw.io/llmgw/internal/tinygguf"
)

// order is what a command line asks for.
type order struct {
	out, lora string
	quiet     bool
	model     tinygguf.Options
	adapter   tinygguf.Adapter
}

func run(args []string, stdout io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.quiet {
		stdout = io.Discard
	}
	if o.out != "" {
		if err := writeModel(o, stdout); err != nil {
			return err
		}
	}
	if o.lora == "" {
		return nil
	}
	if err := tinygguf.WriteAdapter(o.lora, o.model, o.adapter); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s: an adapter of rank %d that says %s\n", o.lora, o.adapter.Rank, strings.Join(o.adapter.Say, ", "))
	return err
}

func parse(args []string) (order, error) {
	var o order
	m := &o.model
	fs := flag.NewFlagSet("tinygguf", flag.ContinueOnError)
	fs.StringVar(&o.out, "out", "", "model `file` to write")
	fs.StringVar(&m.Name, "name", "", "general.name (default tiny-random-llama)")
	fs.Uint64Var(&m.Seed, "seed", 1, "random seed")
	fs.IntVar(&m.Layers, "layers", 2, "transformer blocks")
	fs.IntVar(&m.Embd, "embd", 64, "embedding length, a multiple of 32")
	fs.IntVar(&m.FF, "ff", 128, "feed-forward length, a multiple of 32")
	fs.IntVar(&m.Heads, "heads", 4, "attention heads")
	fs.IntVar(&m.KVHeads, "kv-heads", 2, "key/value heads: fewer than heads is GQA")
	fs.IntVar(&m.Context, "ctx", 2048, "training context length")
	fs.StringVar(&m.Type, "type", "f16", "weights: f32, f16, q8_0, q4_0")
	fs.StringVar(&m.Pooling, "pooling", "", "embedding pooling to declare: mean, cls, last")
	fs.Float64Var(&m.End, "eos", 1.5, "bias of the end token: higher gives shorter answers, -30 none that ends")
	fs.BoolVar(&m.Tools, "tools", false, "a chat template with tools, and a model that starts with a tool call")
	fs.IntVar(&m.MB, "mb", 0, "make it about this many MB, and set the shape for it")
	fs.BoolVar(&m.Sparse, "sparse", false, "write no tensor data, only the room for it")
	fs.IntVar(&m.Split, "split", 1, "number of files to split it into")
	fs.Int64Var(&m.Cut, "cut", 0, "leave this many bytes off the end")
	fs.StringVar(&o.lora, "lora", "", "LoRA adapter `file` to write too")
	fs.IntVar(&o.adapter.Rank, "lora-rank", 4, "rank of the adapter")
	fs.BoolVar(&o.quiet, "q", false, "print nothing")
	list := func(v *[]string, name, usage string) {
		fs.Func(name, usage, func(s string) error { *v = tinygguf.ParseWords(s); return nil })
	}
	o.adapter.Say = []string{"banana"}
	list(&m.Say, "say", "comma-separated `words` that the model prefers strongly")
	list(&m.Words, "words", "`words` in the vocabulary that the model says only with an adapter (default banana,cherry,mango,papaya,tomato)")
	list(&o.adapter.Say, "lora-say", "`words` that the adapter makes the model say (default banana)")
	if err := fs.Parse(args); err != nil {
		return order{}, err
	}
	if o.out == "" && o.lora == "" {
		return order{}, errors.New("tinygguf: nothing to do: give -out FILE, -lora FILE or both")
	}
	return o, nil
}

func writeModel(o order, stdout io.Writer) error {
	d, err := tinygguf.Describe(o.out, o.model)
	if err != nil {
		return err
	}
	if err := tinygguf.Write(o.out, o.model); err != nil {
		return err
	}
	var size int64
	for _, f := range d.Files {
		info, err := os.Stat(f)
		if err != nil {
			return err
		}
		size += info.Size()
	}
	_, err = fmt.Fprintf(stdout, "%s: %d bytes, %d parameters, %d layers, embd %d, ff %d, heads %d/%d, vocab %d, %s\n",
		strings.Join(d.Files, " "), size, d.Params, d.Layers, d.Embd, d.FF, d.Heads, d.KVHeads, d.Vocab, o.model.Type)
	return err
}
