package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "placement:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	usage := fmt.Errorf("usage: placement policy [-out FILE] [-moves PERCENT] | placement table DIR")
	if len(args) == 0 {
		return usage
	}
	switch args[0] {
	case "policy":
		fs := flag.NewFlagSet("policy", flag.ContinueOnError)
		times := fs.String("out", "", "file to append the times of decisions to")
		moves := fs.Float64("moves", 0, "percent of placed replicas that may be moved, or stopped for a higher class")
		if err := fs.Parse(args[1:]); err != nil {
			return err
		}
		p := &policy{out: bufio.NewWriter(out), times: *times, moves: *moves}
		return p.serve(in)
	case "table":
		if len(args) == 2 {
			return table(out, args[1])
		}
	}
	return usage
}
