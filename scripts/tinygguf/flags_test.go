package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRunWritesAModelAndItsAdapter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	model, lora := filepath.Join(dir, "m.gguf"), filepath.Join(dir, "l.gguf")
	var out bytes.Buffer
	if err := run([]string{"-out", model, "-lora", lora, "-lora-say", "cherry"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{model, lora} {
		b, err := os.ReadFile(f)
		if err != nil || !bytes.HasPrefix(b, []byte("GGUF")) {
			t.Errorf("%s is no GGUF: %v", f, err)
		}
	}
	if !strings.Contains(out.String(), "says cherry") {
		t.Errorf("output does not name the adapter's word: %s", out.String())
	}
}

func TestRunWithNothingToDo(t *testing.T) {
	t.Parallel()
	if err := run(nil, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "give -out FILE") {
		t.Errorf("want the next step, got %v", err)
	}
}
