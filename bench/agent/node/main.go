package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	b := bench{}
	flag.StringVar(&b.bin, "bin", "bin", "the `FOLDER` of the programs")
	flag.DurationVar(&b.rest, "rest", 30*time.Second, "how long the agent rests before its memory is read")
	flag.IntVar(&b.kills, "kills", 10, "how often the agent is killed")
	flag.IntVar(&b.streams, "streams", 16, "streams that are open meanwhile")
	out := flag.String("json", "", "keep the figures in this `FILE` as well")
	flag.Parse()
	met, err := b.report(context.Background(), *out)
	if err != nil {
		fmt.Fprintln(os.Stderr, "node:", err)
	}
	if err != nil || !met {
		os.Exit(1)
	}
}
