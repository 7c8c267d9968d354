package main

import (
	"strings"
	"testing"
)

// TestRun is the whole system in one process: a model is placed on a node in
// memory and answers.
func TestRun(t *testing.T) {
	t.Parallel()
	answer, err := run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"model":"tiny"`, `"system_fingerprint":"simulated"`, `"usage"`} {
		if !strings.Contains(answer, want) {
			t.Errorf("the answer lacks %s: %s", want, answer)
		}
	}
}
