package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gateway RESULTS.json")
		os.Exit(2)
	}
	met, err := report(os.Stdout, os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "gateway:", err)
		os.Exit(2)
	}
	if !met {
		os.Exit(1)
	}
}
