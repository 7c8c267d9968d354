package fetch

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path"

	"llmgw.io/llmgw/agent/protocol"
)

// ahead asks for all files of a set before the first of several is fetched: a
// part that is missing is said at once, with its name, and not after hours, and
// so is a disk that is too small for all of them together.
func (f *Fetcher) ahead(ctx context.Context, root *os.Root, w Set, fl *flight) error {
	if len(w.files) < 2 {
		return nil
	}
	whole, missing, known := int64(0), int64(0), true
	for _, file := range w.files {
		d := &download{f: f, root: root, file: file, fl: fl}
		n, have := d.have(ctx)
		if !have {
			var err error
			if n, err = d.askSize(ctx); err != nil {
				return err
			}
			missing += max(0, n-d.begun())
		}
		known = known && n > 0
		whole += max(0, n)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if known {
		fl.size(whole)
	}
	return f.room(root.Name(), missing)
}

// begun is how many bytes of a file are there already.
func (d *download) begun() int64 {
	info, err := d.root.Stat(d.name(partSuffix))
	if err != nil {
		return 0
	}
	return info.Size()
}

// askSize asks whether a file is there, and how long it is; -1 where nobody
// says. Only a clear no is an error: servers answer this question less well than
// the one for the file.
func (d *download) askSize(ctx context.Context) (int64, error) {
	if d.file.bytes > 0 && (d.file.sha256 != "" || d.file.blob != "") {
		return d.file.bytes, nil // a hub has said so
	}
	from, err := d.f.places(d.file)
	if err != nil {
		return 0, err
	}
	gone := 0
	for _, place := range from {
		size, status := d.head(ctx, place)
		switch {
		case status == http.StatusNotFound || status == http.StatusGone:
			gone++
		case size > 0:
			return size, nil
		}
	}
	if gone == len(from) {
		return 0, failed(protocol.CauseFile, fmt.Sprintf("%s is missing at its source %s; put all files of the model there, or correct the source", path.Base(d.file.name), shown(from[len(from)-1])))
	}
	return max(d.file.bytes, -1), nil
}

func (d *download) head(ctx context.Context, place string) (size int64, status int) {
	ctx, cancel := context.WithTimeout(ctx, d.f.cfg.Stall)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, place, nil)
	if err != nil {
		return -1, 0
	}
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := d.f.do(req)
	if err != nil {
		return -1, 0
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return -1, resp.StatusCode
	}
	return resp.ContentLength, resp.StatusCode
}
