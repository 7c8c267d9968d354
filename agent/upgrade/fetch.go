package upgrade

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"llmgw.io/llmgw/internal/release"
	"llmgw.io/llmgw/internal/safedial"
)

// get reads one file of a release into memory: nothing reaches the disk before it
// is verified.
func (u *Upgrader) get(ctx context.Context, want release.Want, name string, most int64) ([]byte, error) {
	at := u.cfg.URL + "/" + want.Version + "/" + name
	read := u.getHTTP
	if strings.HasPrefix(at, "file:") {
		read = u.getFile
	}
	data, err := read(ctx, at, most)
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long), errors.Is(err, safedial.ErrTooLarge):
		return nil, fmt.Errorf("%s is larger than %d bytes, which no release is; look at what is there", at, most)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no %s; look whether %s was released for %s/%s, and at releases.url in the agent's configuration", at, want.Version, want.OS, want.Arch)
	case errors.Is(err, safedial.ErrRefused), errors.Is(err, safedial.ErrURL):
		return nil, fmt.Errorf("%s is nowhere this node may fetch from; use a public address over https, or allow it under reach in the agent's configuration", at)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s did not come in time; look how fast this node reaches it, and ask again", at)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%s broke off after %d bytes; ask again", at, len(data))
	case err != nil:
		return nil, fmt.Errorf("%s cannot be fetched: %w; ask again once that is mended", at, err)
	}
	return data, nil
}

func (u *Upgrader) getFile(_ context.Context, at string, most int64) ([]byte, error) {
	parsed, err := url.Parse(at)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.FromSlash(parsed.Path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no file")
	}
	return bounded(f, info.Size(), most)
}

func (u *Upgrader) getHTTP(ctx context.Context, at string, most int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := u.http.Do(req)
	if err != nil {
		return nil, safedial.Plain(err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		return bounded(resp.Body, resp.ContentLength, most)
	case http.StatusNotFound, http.StatusGone:
		return nil, fs.ErrNotExist
	}
	return nil, fmt.Errorf("the server answers %d", resp.StatusCode)
}

// grownAtOnce is how much room is made on a server's word.
const grownAtOnce = 64 << 20

// bounded reads a body of a length, or of any length below zero.
func bounded(r io.Reader, length, most int64) ([]byte, error) {
	if length > most {
		return nil, &http.MaxBytesError{Limit: most}
	}
	var b bytes.Buffer
	b.Grow(int(min(max(length, 0), grownAtOnce)) + bytes.MinRead)
	n, err := b.ReadFrom(io.LimitReader(r, most+1))
	switch {
	case err != nil:
		return b.Bytes(), err
	case n > most:
		return nil, &http.MaxBytesError{Limit: most}
	case length >= 0 && n != length:
		return b.Bytes(), io.ErrUnexpectedEOF
	}
	return b.Bytes(), nil
}
