package adminapi

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strconv"
)

const (
	usualPage  = 500
	widestPage = 5000
)

// limit is how many items the caller wants at most.
func (c *call) limit() (int, error) {
	n, err := c.number("limit", usualPage)
	if err != nil {
		return 0, err
	}
	if n < 1 {
		return 0, invalid("limit must be at least 1, not %d", n)
	}
	return min(n, widestPage), nil
}

// cursor is where to go on: after the item with that key. Empty: the start.
func (c *call) cursor() (string, error) {
	s := c.r.URL.Query().Get("cursor")
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return "", invalid("cursor is none that was given out; take it from the Link header of the answer before")
	}
	return string(b), nil
}

// next tells where the following page is. The reference is relative, so that it
// holds wherever the API is mounted.
func (c *call) next(after string, limit int) {
	q := url.Values{}
	for k, v := range c.r.URL.Query() {
		q[k] = v
	}
	q.Set("limit", strconv.Itoa(limit))
	q.Set("cursor", base64.RawURLEncoding.EncodeToString([]byte(after)))
	c.w.Header().Set("Link", fmt.Sprintf(`<?%s>; rel="next"`, q.Encode()))
}

// page cuts one page out of a list that is ordered by key.
func page[T any](c *call, list []T, key func(T) string) ([]T, error) {
	limit, err := c.limit()
	if err != nil {
		return nil, err
	}
	after, err := c.cursor()
	if err != nil {
		return nil, err
	}
	if after != "" {
		i := slices.IndexFunc(list, func(v T) bool { return key(v) > after })
		if i < 0 {
			i = len(list)
		}
		list = list[i:]
	}
	if len(list) > limit {
		list = list[:limit]
		c.next(key(list[limit-1]), limit)
	}
	if list == nil {
		list = []T{}
	}
	return list, nil
}
