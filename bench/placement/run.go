package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"strconv"
)

// run is the command with its arguments.
func run(args []string, in io.Reader, out io.Writer) error {
	usage := fmt.Errorf("usage: placement policy [-out FILE] [-moves PERCENT] | placement loop FILE [NODES] | placement table DIR")
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
	case "loop":
		nodes := loopNodes
		if len(args) == 3 {
			n, err := strconv.Atoi(args[2])
			if err != nil || n < loopLeast {
				return usage
			}
			nodes = n
		}
		if len(args) == 2 || len(args) == 3 {
			return loop(args[1], nodes)
		}
	case "table":
		if len(args) == 2 {
			return table(out, args[1])
		}
	}
	return usage
}
