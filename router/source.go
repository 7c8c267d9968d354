package router

import (
	"io"

	"llmgw.io/llmgw/router/upstream"
)

// source gives what has come of a stream; see [upstream.Body].
type source interface {
	Next() (piece []byte, more bool, err error)
}

// sourceOf takes a body as it is, or has it copied where it knows no better.
func sourceOf(body io.Reader) source {
	if b, ok := body.(upstream.Body); ok {
		return b
	}
	return &copied{from: body, into: make([]byte, 8<<10)}
}

// copied is a source of any reader.
type copied struct {
	from io.Reader
	into []byte
	err  error
}

// Next reads once. An error that comes with bytes is given after them.
func (c *copied) Next() (piece []byte, more bool, err error) {
	n := 0
	for n == 0 && c.err == nil {
		n, c.err = c.from.Read(c.into)
	}
	if n == 0 {
		return nil, false, c.err
	}
	return c.into[:n], c.err != nil, nil
}
