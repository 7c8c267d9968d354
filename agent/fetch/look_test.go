package fetch

import (
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/internal/tinygguf"
	"llmgw.io/llmgw/inventory"
)

// folderOf writes files to a new folder.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// tensors is a safetensors file with n bytes of weights.
func tensors(n int) string {
	head := `{"a":{"dtype":"U8","shape":[` + itoa(n) + `],"data_offsets":[0,` + itoa(n) + `]}}`
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(head)))) + head + strings.Repeat("w", n)
}

func modelFiles(t *testing.T, o tinygguf.Options) string {
	t.Helper()
	dir := t.TempDir()
	if err := tinygguf.Write(filepath.Join(dir, "m.gguf"), o); err != nil {
		t.Fatal(err)
	}
	return dir
}

func weightsOf(f *Fetcher, t *testing.T, d protocol.DesiredShard) ([]string, error) {
	t.Helper()
	w, err := Weights(d)
	if err != nil {
		return nil, err
	}
	return f.Get(t.Context(), w, func(inventory.Fetch, string) {})
}

func TestLook(t *testing.T) {
	t.Parallel()
	one, split := modelFiles(t, tinygguf.Options{}), modelFiles(t, tinygguf.Options{Split: 4})
	whole, err := os.ReadFile(filepath.Join(one, "m.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	part := func(i int) string {
		b, err := os.ReadFile(filepath.Join(split, "m-0000"+itoa(i)+"-of-00004.gguf"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	lora := filepath.Join(one, "lora.gguf")
	if err := tinygguf.WriteAdapter(lora, tinygguf.Options{}, tinygguf.Adapter{}); err != nil {
		t.Fatal(err)
	}
	index := `{"weight_map":{"x":"model-1.safetensors","y":"model-2.safetensors"}}`
	tests := []struct {
		name   string
		files  map[string]string
		source string
		engine catalog.Engine
		cause  protocol.Cause
		says   string
	}{
		{"whole", map[string]string{"m.gguf": string(whole)}, "m.gguf", catalog.EngineLlamaCPP, "", ""},
		{"cut", map[string]string{"m.gguf": string(whole[:len(whole)-500])}, "m.gguf", catalog.EngineLlamaCPP, protocol.CauseModel, "m.gguf cannot be used: it has"},
		{"text", map[string]string{"m.gguf": "version https://git-lfs.github.com/spec/v1"}, "m.gguf", catalog.EngineLlamaCPP, protocol.CauseModel, "Git LFS"},
		{"another name", map[string]string{"blob": "no model at all, by any means"}, "blob", catalog.EngineLlamaCPP, protocol.CauseModel, "something else"},
		{"sim reads none", map[string]string{"m.gguf": "text"}, "m.gguf", catalog.EngineSim, "", ""},
		{"three of four", map[string]string{"m-00001-of-00004.gguf": part(1), "m-00002-of-00004.gguf": part(2), "m-00004-of-00004.gguf": part(4)}, "m-00001-of-00004.gguf", catalog.EngineLlamaCPP, protocol.CauseFile, "m-00003-of-00004.gguf"},
		{"a part twice", map[string]string{"m-00001-of-00002.gguf": part(1), "m-00002-of-00002.gguf": part(1)}, "m-00001-of-00002.gguf", catalog.EngineLlamaCPP, protocol.CauseModel, "another by its name"},
		{"a part alone", map[string]string{"m.gguf": part(1)}, "m.gguf", catalog.EngineLlamaCPP, protocol.CauseModel, "part 1 of 4"},
		{"called a part", map[string]string{"m-00001-of-00001.gguf": string(whole)}, "m-00001-of-00001.gguf", catalog.EngineLlamaCPP, protocol.CauseModel, "is a whole one"},
		{"safetensors", map[string]string{"d/model.safetensors": tensors(50), "d/config.json": "{}"}, "d", catalog.EngineVLLM, "", ""},
		{"safetensors cut", map[string]string{"d/model.safetensors": tensors(50)[:80], "d/config.json": "{}"}, "d", catalog.EngineVLLM, protocol.CauseModel, "model.safetensors cannot be used"},
		{"index", map[string]string{"d/model-1.safetensors": tensors(5), "d/model-2.safetensors": tensors(6), "d/model.safetensors.index.json": index}, "d", catalog.EngineVLLM, "", ""},
		{"index and one missing", map[string]string{"d/model-1.safetensors": tensors(5), "d/model.safetensors.index.json": index}, "d", catalog.EngineVLLM, protocol.CauseFile, "model-2.safetensors is missing"},
		{"pickles", map[string]string{"d/pytorch_model.bin": "x", "d/config.json": "{}"}, "d", catalog.EngineVLLM, protocol.CauseModel, "run code"},
		{"nothing", map[string]string{"d/readme.md": "x"}, "d", catalog.EngineVLLM, protocol.CauseFile, "no GGUF file"},
		{"two models", map[string]string{"d/a.gguf": string(whole), "d/b.gguf": string(whole)}, "d", catalog.EngineLlamaCPP, protocol.CauseFile, "a.gguf, b.gguf"},
	}
	f := testFetcher(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := weightsOf(f, t, protocol.DesiredShard{Engine: tt.engine, Source: "file://" + filepath.Join(folderOf(t, tt.files), tt.source)})
			if cause(err) != tt.cause || err != nil && !strings.Contains(err.Error(), tt.says) || (err == nil) != (tt.says == "") {
				t.Errorf("got %q (%v), want %q with %q in it", cause(err), err, tt.cause, tt.says)
			}
		})
	}
	t.Run("adapter as model", func(t *testing.T) {
		t.Parallel()
		if _, err := weightsOf(f, t, protocol.DesiredShard{Engine: catalog.EngineLlamaCPP, Source: "file://" + lora}); cause(err) != protocol.CauseModel || !strings.Contains(err.Error(), "adapter and no model") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("model as adapter", func(t *testing.T) {
		t.Parallel()
		w, err := Adapter(protocol.DesiredFile{Name: "a", From: []string{"file://" + filepath.Join(one, "m.gguf")}}, catalog.EngineLlamaCPP)
		if err == nil {
			_, err = f.Get(t.Context(), w, func(inventory.Fetch, string) {})
		}
		if cause(err) != protocol.CauseModel || !strings.Contains(err.Error(), "no adapter") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("same architecture", func(t *testing.T) {
		t.Parallel()
		if err := SameArchitecture(filepath.Join(one, "m.gguf"), lora); err != nil {
			t.Error(err)
		}
		other := filepath.Join(t.TempDir(), "other.gguf")
		if err := os.WriteFile(other, []byte(strings.Replace(string(whole), "\x05\x00\x00\x00\x00\x00\x00\x00llama", "\x05\x00\x00\x00\x00\x00\x00\x00gemma", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := SameArchitecture(other, lora); cause(err) != protocol.CauseModel || !strings.Contains(err.Error(), "llama and the model is gemma") {
			t.Errorf("got %v", err)
		}
	})
}

// A hub's cache keeps its files as links into a folder of blobs.
func TestInPlaceHubCache(t *testing.T) {
	t.Parallel()
	commit := strings.Repeat("ab", 20)
	dir := folderOf(t, map[string]string{"models--org--name/blobs/x": tensors(9), "models--org--name/refs/main": commit + "\n"})
	at := filepath.Join(dir, "models--org--name", "snapshots", commit)
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../blobs/x", filepath.Join(at, "model.safetensors")); err != nil {
		t.Skip(err)
	}
	got, err := weightsOf(testFetcher(t), t, protocol.DesiredShard{Engine: catalog.EngineVLLM, Source: "file://" + filepath.Join(dir, "models--org--name")})
	if err != nil || len(got) != 1 || got[0] != filepath.Join(at, "model.safetensors") {
		t.Errorf("got %v, %v", got, err)
	}
}

// files serves a folder.
func files(t *testing.T, dir string, asked *atomic.Int64) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			asked.Add(1)
		}
		http.ServeFile(w, r, filepath.Join(dir, filepath.FromSlash(r.URL.Path)))
	}))
	t.Cleanup(s.Close)
	return s
}

// The first part of a split model stands for all of them, and one that is not
// there is said before anything is fetched.
func TestFetchSplit(t *testing.T) {
	t.Parallel()
	dir := modelFiles(t, tinygguf.Options{Split: 4})
	var asked atomic.Int64
	s := files(t, dir, &asked)
	shard := protocol.DesiredShard{Engine: catalog.EngineLlamaCPP, Source: s.URL + "/m-00001-of-00004.gguf"}
	if err := os.Rename(filepath.Join(dir, "m-00003-of-00004.gguf"), filepath.Join(dir, "away")); err != nil {
		t.Fatal(err)
	}
	f := testFetcher(t)
	_, err := weightsOf(f, t, shard)
	if cause(err) != protocol.CauseFile || !strings.Contains(err.Error(), "m-00003-of-00004.gguf is missing") {
		t.Errorf("got %v", err)
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("%d files were fetched though one is missing", n)
	}
	if err := os.Rename(filepath.Join(dir, "away"), filepath.Join(dir, "m-00003-of-00004.gguf")); err != nil {
		t.Fatal(err)
	}
	got, err := weightsOf(f, t, shard)
	if err != nil || len(got) != 4 || filepath.Base(got[0]) != "m-00001-of-00004.gguf" {
		t.Errorf("got %v, %v", got, err)
	}
}

// A file that was fetched without a hash and is no good is not kept.
func TestFetchBrokenIsFetchedAgain(t *testing.T) {
	t.Parallel()
	good := modelFiles(t, tinygguf.Options{})
	whole, err := os.ReadFile(filepath.Join(good, "m.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	dir := folderOf(t, map[string]string{"m.gguf": string(whole[:5000])})
	var asked atomic.Int64
	s := files(t, dir, &asked)
	shard := protocol.DesiredShard{Engine: catalog.EngineLlamaCPP, Source: s.URL + "/m.gguf"}
	f := testFetcher(t)
	if _, err := weightsOf(f, t, shard); cause(err) != protocol.CauseModel || !strings.Contains(err.Error(), "not whole") {
		t.Fatalf("got %v", err)
	}
	noFinal(t, f)
	if err := os.WriteFile(filepath.Join(dir, "m.gguf"), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := weightsOf(f, t, shard); err != nil {
		t.Errorf("after the source was mended: %v", err)
	}
}

// The definition has to name a pickle itself.
func TestPickle(t *testing.T) {
	t.Parallel()
	s := files(t, folderOf(t, map[string]string{"pytorch_model.bin": "x"}), new(atomic.Int64))
	shard := protocol.DesiredShard{Engine: catalog.EngineVLLM, Source: s.URL + "/pytorch_model.bin"}
	if _, err := weightsOf(testFetcher(t), t, shard); cause(err) != protocol.CauseModel {
		t.Errorf("got %v", err)
	}
	shard.Files = []protocol.DesiredFile{{Path: "pytorch_model.bin"}}
	if _, err := weightsOf(testFetcher(t), t, shard); err != nil {
		t.Errorf("named: %v", err)
	}
}
