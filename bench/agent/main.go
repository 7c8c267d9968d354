package main

import (
	"fmt"
	"os"

	"llmgw.io/llmgw/bench/agent/figure"
)

func main() {
	var all []figure.Figure
	for _, path := range os.Args[1:] {
		list, err := figure.Read(path)
		if err != nil {
			fmt.Fprintln(os.Stderr, "agent:", err)
			os.Exit(2)
		}
		all = append(all, list...)
	}
	if !figure.Print(os.Stdout, all) {
		os.Exit(1)
	}
}
