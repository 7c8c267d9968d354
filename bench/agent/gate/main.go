package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == otherArgument {
		fmt.Fprintln(os.Stderr, "reverse-proxy:", reverseProxy(os.Args[2]))
		os.Exit(1)
	}
	b := bench{}
	flag.StringVar(&b.gate, "gate", "bin/llmgw-gate", "the gate's `PROGRAM`")
	flag.IntVar(&b.streams, "streams", 64, "streams that are open at once")
	flag.IntVar(&b.rounds, "rounds", 3, "how often each is measured; the best counts")
	flag.DurationVar(&b.span, "span", 5*time.Second, "how long a measurement takes")
	flag.DurationVar(&b.pace, "pace", 20*time.Millisecond, "time between two chunks of a stream")
	out := flag.String("json", "", "keep the figures in this `FILE` as well")
	flag.Parse()
	met, err := b.report(context.Background(), *out)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	if err != nil || !met {
		os.Exit(1)
	}
}
