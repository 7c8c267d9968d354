package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 2 && len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: gateway RESULTS.json [FAULTS.json]")
		os.Exit(2)
	}
	var faults string
	if len(os.Args) == 3 {
		faults = os.Args[2]
	}
	met, err := report(os.Stdout, os.Args[1], faults)
	if err != nil {
		fmt.Fprintln(os.Stderr, "gateway:", err)
		os.Exit(2)
	}
	if !met {
		os.Exit(1)
	}
}
