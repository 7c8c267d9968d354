package bunstore

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

const sqliteScheme = "sqlite://"

// parseDSN returns the absolute path of the database's file.
func parseDSN(dsn string) (string, error) {
	path := dsn
	if rest, ok := strings.CutPrefix(dsn, sqliteScheme); ok {
		var err error
		if path, err = url.PathUnescape(rest); err != nil {
			return "", fmt.Errorf("the store's address %q is not a URL: %w", dsn, err)
		}
	} else if scheme, _, ok := strings.Cut(dsn, "://"); ok {
		return "", fmt.Errorf("a store of kind %q is not known; give the path of a file, or postgres://user@host/name", scheme)
	}
	if path == "" {
		return "", fmt.Errorf("the store has no address; give the path of a file, such as /var/lib/llmgw/llmgw.db")
	}
	if strings.HasPrefix(path, ":memory:") {
		return "", fmt.Errorf("a store in memory is forgotten with its process; give the path of a file, or use package memstore")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("the store's path %q: %w", path, err)
	}
	return behindLinks(abs), nil
}

// mostLinks is how many links in a row are followed, as systems do.
const mostLinks = 40

// behindLinks is the file that a path leads to, there or not: a file that two
// paths lead to has one lock.
func behindLinks(path string) string {
	for range mostLinks {
		to, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}
