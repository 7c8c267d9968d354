package fetch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"llmgw.io/llmgw/agent/protocol"
)

func TestExpand(t *testing.T) {
	t.Parallel()
	h := strings.Repeat("ab", 32)
	tests := []struct {
		source string
		want   []string // URLs
		err    string
	}{
		{"https://h/m/w.gguf", []string{"https://h/m/w.gguf"}, ""},
		{"https://h/m/w.gguf#sha256=" + h, []string{"https://h/m/w.gguf"}, ""},
		{"https://h/w-00002-of-00003.gguf", []string{"https://h/w-00001-of-00003.gguf", "https://h/w-00002-of-00003.gguf", "https://h/w-00003-of-00003.gguf"}, ""},
		{"file:///m/w-00001-of-00002.gguf", []string{"file:///m/w-00001-of-00002.gguf", "file:///m/w-00002-of-00002.gguf"}, ""},
		{"https://h/w-00001-of-99999.gguf", nil, "at most 1024"},
		{"https://h/w.gguf#sha256=12", nil, "64 hexadecimal digits"},
		{"https://h/w.gguf#md5=12", nil, "sha256="},
		{"https://user:secret@h/w.gguf", nil, "password"},
		{"hf://org", nil, "no repository"},
		{"hf://org/name@v1/../x", nil, "no repository"},
		{"hf://org/name@v1#sha256=" + h, nil, "of one file"},
		{"mirror://sha256:" + h, []string{"mirror://sha256:" + h}, ""},
		{"mirror://sha256:12", nil, "names no content"},
		{"https://h/pytorch_model.bin", nil, "is a pickle"},
		{"https://h/w-00009-of-00003.gguf", nil, "none of the 3 parts"},
		{"ftp://h/w", nil, "cannot fetch from"},
		{"", nil, "no URL"},
		{"https://h/w%2f..%2f..gguf", nil, "cannot be the name"},
		{"https://h/.lock", nil, "cannot be the name"},
		{"https://h/w.part", nil, "cannot be the name"},
		{"https://h/", nil, "cannot be the name"},
	}
	for _, tt := range tests {
		t.Run(tt.source, func(t *testing.T) {
			t.Parallel()
			w, err := anything.expand(tt.source)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "secret") {
					t.Fatalf("got %v, want %q in it", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range w.files {
				got = append(got, f.from[0])
			}
			if strings.Join(got, " ") != strings.Join(tt.want, " ") {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestWeightsOf(t *testing.T) {
	t.Parallel()
	w, err := Weights(protocol.DesiredShard{
		Source: "https://h/m/a.gguf#sha256=" + strings.Repeat("ab", 32),
		Files:  []protocol.DesiredFile{{Path: "a.gguf"}, {Path: "mmproj.gguf", Bytes: 5}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.files[1].from[0]; got != "https://h/m/mmproj.gguf" {
		t.Errorf("the second file comes from %q", got)
	}
	if w.files[0].sha256 == "" {
		t.Error("the hash in the source was lost")
	}
	for _, name := range []string{"../a", "/a", "a/../../b", "a//b", "con\x00", "-rf", ".hidden"} {
		_, err := Weights(protocol.DesiredShard{Files: []protocol.DesiredFile{{Path: name, From: []string{"https://h/x"}}}})
		if err == nil {
			t.Errorf("a file may be called %q", name)
		}
	}
}

func TestInPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "w.gguf")
	if err := os.WriteFile(path, weights, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "empty.gguf"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, source, says string }{
		{"there", "file://" + path, ""},
		{"right", "file://" + path + "#sha256=" + sum(weights), ""},
		{"wrong", "file://" + path + "#sha256=" + sum([]byte("x")), sum(weights)},
		{"missing", "file://" + dir + "/no.gguf", "there is no file"},
		{"folder", "file://" + dir, ""},
		{"empty", "file://" + dir + "/empty.gguf", "is empty"},
		{"elsewhere", "file://host/w.gguf", "no file of this machine"},
	}
	f := testFetcher(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := get(t, f, tt.source)
			switch {
			case tt.says == "" && (err != nil || got != path):
				t.Errorf("got %q, %v", got, err)
			case tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)):
				t.Errorf("got %v, want %q in it", err, tt.says)
			}
		})
	}
	if err := os.WriteFile(path, append([]byte("changed"), weights...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := get(t, f, "file://"+path+"#sha256="+sum(weights)); err == nil {
		t.Error("a file that changed after it was checked is taken")
	}
}
