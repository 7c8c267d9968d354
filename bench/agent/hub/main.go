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
	flag.IntVar(&b.agents, "agents", 10_000, "how many agents there are")
	flag.DurationVar(&b.settle, "settle", 20*time.Second, "how long nothing is measured after all have come")
	flag.DurationVar(&b.span, "span", 30*time.Second, "how long beats are measured")
	flag.IntVar(&b.changes, "changes", 1000, "how many assignments are changed")
	flag.DurationVar(&b.every, "every", 30*time.Millisecond, "time between two of them")
	flag.StringVar(&b.profile, "profile", "", "keep a profile of the hub's processor time in this `FILE`, and of its heap beside it")
	hub := flag.Bool("hub", false, "be the hub's process")
	out := flag.String("json", "", "keep the figures in this `FILE` as well")
	flag.Parse()
	run := func(ctx context.Context) (bool, error) { return b.report(ctx, *out) }
	if *hub {
		run = func(ctx context.Context) (bool, error) { return true, serve(ctx, b.agents) }
	}
	met, err := run(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "hub:", err)
	}
	if err != nil || !met {
		os.Exit(1)
	}
}
