//go:build e2e && unix

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"llmgw.io/llmgw/catalog"
)

// origin serves one file of weights, as slowly and as badly as it is told.
type origin struct {
	*httptest.Server
	path   string
	sha256 string
	size   int64

	mu sync.Mutex
	// cuts are after how many bytes the next answers break off. Empty: none does.
	cuts []int64
	// rate is in bytes per second. Zero: as fast as it goes.
	rate int64
	// sent counts bytes, starts are where answers began.
	sent   int64
	starts []int64
}

func newOrigin(t *testing.T, path string) *origin {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		t.Fatal(err)
	}
	o := &origin{path: path, sha256: hex.EncodeToString(h.Sum(nil)), size: n}
	o.Server = httptest.NewServer(o)
	t.Cleanup(o.Close)
	return o
}

// reach is what an agent's configuration needs to fetch from here.
func (o *origin) reach() string {
	_, port, _ := strings.Cut(strings.TrimPrefix(o.URL, "http://"), ":")
	return "reach: {private: [\"127.0.0.1/32:" + port + "\"], plain_http: true}\n"
}

// source and files are what a definition says of the file.
func (o *origin) source() string { return o.URL + "/" + filepath.Base(o.path) }

func (o *origin) files() []catalog.File {
	return []catalog.File{{Path: filepath.Base(o.path), SHA256: o.sha256, Bytes: o.size}}
}

func (o *origin) slow(rate int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rate = rate
}

func (o *origin) seen() (sent int64, starts []int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sent, append([]int64{}, o.starts...)
}

// ServeHTTP answers ranges from one place to the end, which is all that is asked.
func (o *origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, err := os.Open(o.path)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer f.Close()
	at := int64(0)
	if from, ok := strings.CutPrefix(r.Header.Get("Range"), "bytes="); ok {
		at, _ = strconv.ParseInt(strings.TrimSuffix(from, "-"), 10, 64)
	}
	w.Header().Set("ETag", `"`+o.sha256+`"`)
	w.Header().Set("Content-Length", strconv.FormatInt(o.size-at, 10))
	if at > 0 {
		w.Header().Set("Content-Range", "bytes "+strconv.FormatInt(at, 10)+"-"+strconv.FormatInt(o.size-1, 10)+"/"+strconv.FormatInt(o.size, 10))
		w.WriteHeader(http.StatusPartialContent)
	}
	o.mu.Lock()
	o.starts = append(o.starts, at)
	left := o.size - at
	if len(o.cuts) > 0 {
		left = min(left, o.cuts[0])
		o.cuts = o.cuts[1:]
	}
	o.mu.Unlock()
	if _, err := f.Seek(at, io.SeekStart); err == nil {
		o.copy(w, r, f, left)
	}
	if at+left < o.size {
		panic(http.ErrAbortHandler)
	}
}

func (o *origin) copy(w http.ResponseWriter, r *http.Request, f io.Reader, left int64) {
	flush := http.NewResponseController(w)
	for left > 0 && r.Context().Err() == nil {
		o.mu.Lock()
		rate := o.rate
		o.mu.Unlock()
		step := min(left, 64<<10)
		if rate > 0 {
			time.Sleep(time.Duration(step) * time.Second / time.Duration(rate))
		}
		n, err := io.CopyN(w, f, step)
		o.mu.Lock()
		o.sent += n
		o.mu.Unlock()
		if left -= n; err != nil || flush.Flush() != nil {
			return
		}
	}
}
