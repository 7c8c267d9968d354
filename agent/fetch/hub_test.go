package fetch

import (
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

func itoa(n int) string { return strconv.Itoa(n) }

// fakeHub is a hub with one repository, org/name, whose large files lie at
// another server. It stands for a real one, which nothing here reaches.
type fakeHub struct {
	// elsewhere is the server that lists say they go on at. Empty: this one.
	elsewhere string
	*httptest.Server
	cdn    *httptest.Server
	files  map[string]string
	commit string
	// large are names that are kept as LFS objects.
	large func(name string) bool
	token string
	// asked counts questions to the API, leaked tokens that reached the other server.
	asked, leaked atomic.Int64
	gone          atomic.Bool
}

func newHub(t *testing.T, files map[string]string) *fakeHub {
	t.Helper()
	h := &fakeHub{files: files, commit: strings.Repeat("c0", 20), large: func(name string) bool {
		return strings.HasSuffix(name, ".safetensors") || strings.HasSuffix(name, ".gguf")
	}}
	h.cdn = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			h.leaked.Add(1)
		}
		for _, data := range h.files {
			if "/"+sum([]byte(data)) == r.URL.Path {
				w.Header().Set("ETag", `"`+sum([]byte(data))+`"`)
				http.ServeContent(w, r, "", startOfTime, strings.NewReader(data))
				return
			}
		}
		http.NotFound(w, r)
	}))
	h.Server = httptest.NewServer(http.HandlerFunc(h.serve))
	t.Cleanup(func() { h.Close(); h.cdn.Close() })
	return h
}

func (h *fakeHub) serve(w http.ResponseWriter, r *http.Request) {
	switch {
	case h.gone.Load():
		w.WriteHeader(http.StatusServiceUnavailable)
	case h.token != "" && r.Header.Get("Authorization") != "Bearer "+h.token:
		w.WriteHeader(http.StatusUnauthorized)
	case strings.HasPrefix(r.URL.Path, "/api/models/org/name/revision/"):
		h.asked.Add(1)
		if rev := path.Base(r.URL.Path); rev != "main" && rev != h.commit {
			w.Header().Set("X-Error-Code", "RevisionNotFound")
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"id": "org/name", "sha": h.commit})
	case r.URL.Path == "/api/models/org/name/tree/"+h.commit:
		h.tree(w, r)
	case strings.HasPrefix(r.URL.Path, "/org/name/resolve/"+h.commit+"/"):
		name := strings.TrimPrefix(r.URL.Path, "/org/name/resolve/"+h.commit+"/")
		data, ok := h.files[name]
		switch {
		case !ok:
			http.NotFound(w, r)
		case h.large(name):
			http.Redirect(w, r, h.cdn.URL+"/"+sum([]byte(data)), http.StatusFound)
		default:
			http.ServeContent(w, r, "", startOfTime, strings.NewReader(data))
		}
	default:
		http.NotFound(w, r)
	}
}

// tree lists two files a page.
func (h *fakeHub) tree(w http.ResponseWriter, r *http.Request) {
	names := slices.Sorted(maps.Keys(h.files))
	at, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
	list := []map[string]any{{"type": "directory", "path": "sub", "oid": "x"}}
	for _, name := range names[at:min(at+2, len(names))] {
		data := h.files[name]
		blob := sha1.Sum([]byte("blob " + itoa(len(data)) + "\x00" + data))
		e := map[string]any{"type": "file", "path": name, "size": len(data), "oid": hex.EncodeToString(blob[:])}
		if h.large(name) {
			e["lfs"] = map[string]any{"oid": sum([]byte(data)), "size": len(data), "pointerSize": 134}
		}
		list = append(list, e)
	}
	if at+2 < len(names) {
		w.Header().Set("Link", fmt.Sprintf(`<%s?recursive=true&cursor=%d>; rel="next"`, "http://"+cmp.Or(h.elsewhere, r.Host)+r.URL.Path, at+2))
	}
	_ = json.NewEncoder(w).Encode(list)
}

func hubFetcher(t *testing.T, h *fakeHub) *Fetcher {
	t.Helper()
	f := testFetcher(t)
	f.cfg.Hub = Hub{Endpoint: h.URL}
	if h.token != "" {
		f.cfg.Hub.TokenFile = filepath.Join(folderOf(t, map[string]string{"token": h.token + "\n"}), "token")
	}
	f.http = keepToken(&http.Client{}, f.cfg.Hub)
	return f
}

var repoFiles = map[string]string{
	"config.json": `{"a":1}`, "model-1.safetensors": tensors(700), "model-2.safetensors": tensors(800),
	"model.safetensors.index.json": `{"weight_map":{"x":"model-1.safetensors","y":"model-2.safetensors"}}`,
	"tokenizer.model":              "tok", "modeling_x.py": "import os", "README.md": "text", "consolidated.safetensors": tensors(1500),
	"pytorch_model.bin": "pickle", "1_Pooling/config.json": "{}", "original/params.txt": "x", "../evil.json": "{}",
}

func TestHubFolder(t *testing.T) {
	t.Parallel()
	h := newHub(t, repoFiles)
	h.token = "hub-secret"
	f := hubFetcher(t, h)
	got, err := weightsOf(f, t, protocol.DesiredShard{Engine: catalog.EngineVLLM, Source: "hf://org/name@main"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range got {
		names = append(names, strings.TrimPrefix(p, commonFolder(got)+"/"))
	}
	want := "model-1.safetensors model-2.safetensors 1_Pooling/config.json config.json model.safetensors.index.json tokenizer.model"
	if strings.Join(names, " ") != want {
		t.Errorf("fetched %v, want %s", names, want)
	}
	if h.leaked.Load() > 0 {
		t.Error("the hub's token reached another server")
	}
	// What is there is used when the hub is not.
	h.gone.Store(true)
	if again, err := weightsOf(f, t, protocol.DesiredShard{Engine: catalog.EngineVLLM, Source: "hf://org/name@main"}); err != nil || !slices.Equal(again, got) {
		t.Errorf("without the hub: %v, %v", again, err)
	}
}

// commonFolder is the set's folder: that of a file without one of its own.
func commonFolder(paths []string) string { return path.Dir(paths[0]) }

// TestHubGoesOnElsewhere holds a list that goes on at another server to being
// refused: half a list is not one.
func TestHubGoesOnElsewhere(t *testing.T) {
	t.Parallel()
	h := newHub(t, repoFiles)
	h.elsewhere = "hub.example"
	_, err := weightsOf(hubFetcher(t, h), t, protocol.DesiredShard{Engine: catalog.EngineVLLM, Source: "hf://org/name@main"})
	if err == nil || !strings.Contains(err.Error(), "goes on at another server") {
		t.Errorf("got %v", err)
	}
}

func TestHubPinnedIsAskedOnce(t *testing.T) {
	t.Parallel()
	h := newHub(t, repoFiles)
	f := hubFetcher(t, h)
	for range 3 {
		if _, err := weightsOf(f, t, protocol.DesiredShard{Engine: catalog.EngineVLLM, Source: "hf://org/name@" + h.commit}); err != nil {
			t.Fatal(err)
		}
	}
	if n := h.asked.Load(); n != 1 {
		t.Errorf("the hub was asked %d times for what cannot change", n)
	}
}

func TestHubRefuses(t *testing.T) {
	t.Parallel()
	split := modelFilesText(t)
	tests := []struct {
		name   string
		files  map[string]string
		source string
		shard  protocol.DesiredShard
		cause  protocol.Cause
		says   string
	}{
		{"revision", repoFiles, "hf://org/name@v9", protocol.DesiredShard{}, protocol.CauseFetch, "no revision v9"},
		{"repository", repoFiles, "hf://org/other", protocol.DesiredShard{}, protocol.CauseFetch, "404 for org/other"},
		{"file", repoFiles, "hf://org/name@main/no.gguf", protocol.DesiredShard{}, protocol.CauseFile, "no file no.gguf"},
		{"part", split, "hf://org/name@main/m-00001-of-00004.gguf", protocol.DesiredShard{Engine: catalog.EngineLlamaCPP}, protocol.CauseFile, "no file m-00003-of-00004.gguf"},
		{"pickles alone", map[string]string{"pytorch_model.bin": "x", "config.json": "{}"}, "hf://org/name", protocol.DesiredShard{Engine: catalog.EngineVLLM}, protocol.CauseModel, "pickles alone"},
		{"a pickle", repoFiles, "hf://org/name@main/pytorch_model.bin", protocol.DesiredShard{Engine: catalog.EngineVLLM}, protocol.CauseModel, "runs code"},
		{"no GGUF", repoFiles, "hf://org/name", protocol.DesiredShard{Engine: catalog.EngineLlamaCPP}, protocol.CauseFile, "no GGUF file"},
		{"which GGUF", map[string]string{"q4.gguf": "x", "q8.gguf": "x", "mmproj.gguf": "x"}, "hf://org/name", protocol.DesiredShard{Engine: catalog.EngineLlamaCPP}, protocol.CauseFile, "2 GGUF models; name one in the source: q4.gguf, q8.gguf"},
		{"another hash", repoFiles, "hf://org/name", protocol.DesiredShard{Files: []protocol.DesiredFile{{Path: "model-1.safetensors", SHA256: strings.Repeat("ab", 32), From: []string{"hf://org/name@main/model-1.safetensors"}}}}, protocol.CauseHash, "not the file that the definition names"},
		{"two hubs", repoFiles, "hf://org/name", protocol.DesiredShard{Files: []protocol.DesiredFile{{Path: "a.json", From: []string{"hf://org/name@main/a.json"}}, {Path: "b.json", From: []string{"hf://org/other@main/b.json"}}}}, protocol.CauseFile, "several repositories"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := hubFetcher(t, newHub(t, tt.files))
			tt.shard.Source = tt.source
			if _, err := weightsOf(f, t, tt.shard); cause(err) != tt.cause || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %q (%v), want %q with %q in it", cause(err), err, tt.cause, tt.says)
			}
			noFinal(t, f)
		})
	}
	t.Run("no hub", func(t *testing.T) {
		t.Parallel()
		if _, err := weightsOf(testFetcher(t), t, protocol.DesiredShard{Source: "hf://org/name"}); cause(err) != protocol.CauseFetch || !strings.Contains(err.Error(), "set hub.endpoint") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no token", func(t *testing.T) {
		t.Parallel()
		h := newHub(t, repoFiles)
		h.token = "hub-secret"
		f := hubFetcher(t, h)
		f.cfg.Hub.TokenFile = ""
		if _, err := weightsOf(f, t, protocol.DesiredShard{Source: "hf://org/name"}); cause(err) != protocol.CauseFetch || !strings.Contains(err.Error(), "hub.token_file") {
			t.Errorf("got %v", err)
		}
	})
}

// modelFilesText are parts one, two and four of a split model.
func modelFilesText(*testing.T) map[string]string {
	return map[string]string{"m-00001-of-00004.gguf": "x", "m-00002-of-00004.gguf": "x", "m-00004-of-00004.gguf": "x"}
}

// A small file is held to the hash that git has of it.
func TestHubWrongBlob(t *testing.T) {
	t.Parallel()
	h := newHub(t, maps.Clone(repoFiles))
	f := hubFetcher(t, h)
	w, err := Weights(protocol.DesiredShard{Engine: catalog.EngineVLLM, Source: "hf://org/name"})
	if err != nil {
		t.Fatal(err)
	}
	w, err = f.resolve(t.Context(), w, &flight{})
	if err != nil {
		t.Fatal(err)
	}
	h.files["config.json"] = `{"a":2}`
	w.hub = nil
	if _, err := f.Get(t.Context(), w, func(inventory.Fetch, string) {}); cause(err) != protocol.CauseHash || !strings.Contains(err.Error(), "config.json has git's hash") {
		t.Errorf("got %v", err)
	}
}

// The mirror is asked first where a hash is known, and what it lacks comes from
// where it was.
func TestMirror(t *testing.T) {
	t.Parallel()
	var blobs, there atomic.Int64
	mirror := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/m/blobs/sha256:"+sum(weights) || there.Load() == 0 {
			http.NotFound(w, r)
			return
		}
		blobs.Add(1)
		http.ServeContent(w, r, "", startOfTime, strings.NewReader(string(weights)))
	}))
	t.Cleanup(mirror.Close)
	origin := server(t, nil)
	for _, source := range []string{origin.URL + "/w.gguf#sha256=" + sum(weights), "mirror://sha256:" + sum(weights)} {
		for _, has := range []int64{0, 1} {
			there.Store(has)
			blobs.Store(0)
			f := testFetcher(t)
			f.cfg.Mirror = mirror.URL + "/m/"
			_, err := get(t, f, source)
			if lost := has == 0 && strings.HasPrefix(source, "mirror"); (err != nil) != lost {
				t.Errorf("%s with %d in the mirror: %v", source, has, err)
			}
			if blobs.Load() != has {
				t.Errorf("%s: the mirror gave %d files, want %d", source, blobs.Load(), has)
			}
		}
	}
	if _, err := get(t, testFetcher(t), "mirror://sha256:"+sum(weights)); cause(err) != protocol.CauseFetch || !strings.Contains(err.Error(), "set mirror") {
		t.Errorf("without a mirror: %v", err)
	}
}
