package main

import (
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run . ../..

func main() {
	if len(os.Args) != 2 {
		fail(fmt.Errorf("say where the repository is: defaults FOLDER"))
	}
	root := os.Args[1]
	text, err := page(os.DirFS(root), sections())
	fail(err)
	fail(os.WriteFile(filepath.Join(root, "docs", "defaults.md"), []byte(text), 0o644))
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "defaults:", err)
		os.Exit(1)
	}
}
