package bunstore

import (
	"fmt"
	"net/url"
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
	return abs, nil
}
