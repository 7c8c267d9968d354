package adminclient

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// List narrows a listing that can grow.
type List struct {
	// Limit is how many at most in one answer. Zero: the server's usual.
	Limit int
	// Cursor is where to go on. Empty: the start.
	Cursor string
}

func (l List) query() url.Values {
	q := url.Values{}
	if l.Limit > 0 {
		q.Set("limit", strconv.Itoa(l.Limit))
	}
	if l.Cursor != "" {
		q.Set("cursor", l.Cursor)
	}
	return q
}

// listing asks for one page; next is the cursor of the following one, empty at
// the end.
func listing[T any](ctx context.Context, c *Client, q url.Values, path ...string) (page []T, next string, err error) {
	header, err := c.do(ctx, ask{method: http.MethodGet, path: path, query: q}, &page)
	if err != nil {
		return nil, "", err
	}
	return page, nextCursor(header.Get("Link")), nil
}

// nextCursor reads <?…>; rel="next".
func nextCursor(link string) string {
	ref, params, ok := strings.Cut(strings.TrimPrefix(link, "<"), ">")
	if !ok || !strings.Contains(params, `rel="next"`) {
		return ""
	}
	u, err := url.Parse(ref)
	if err != nil {
		return ""
	}
	return u.Query().Get("cursor")
}

// All follows a listing to its end: page asks for one page at a cursor, the
// first time for the empty one.
func All[T any](page func(cursor string) (items []T, next string, err error)) ([]T, error) {
	out, cursor := []T{}, ""
	for {
		items, next, err := page(cursor)
		if err != nil {
			return nil, err
		}
		out = append(out, items...)
		if next == "" {
			return out, nil
		}
		cursor = next
	}
}
