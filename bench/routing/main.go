package main

import (
	"fmt"
	"os"
)

func main() {
	met, err := do(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "routing:", err)
		os.Exit(2)
	}
	if !met {
		os.Exit(1)
	}
}

func do(args []string) (met bool, err error) {
	switch {
	case len(args) == 1 && args[0] == "picker":
		return true, play(os.Stdin, os.Stdout)
	case len(args) == 2:
		routed, err := compare(os.Stdout, args[0], args[1])
		if err != nil {
			return false, err
		}
		quick, err := decision(os.Stdout, os.Stdin)
		return routed && quick, err
	}
	return false, fmt.Errorf("say routing SIMULATOR TRACES, with the benchmark's output as input, or routing picker")
}
