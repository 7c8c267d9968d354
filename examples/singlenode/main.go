package main

import (
	"context"
	"fmt"
	"os"
)

func main() {
	answer, err := run(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "singlenode:", err)
		os.Exit(1)
	}
	fmt.Println(answer)
}
