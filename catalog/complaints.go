package catalog

import (
	"errors"
	"fmt"
)

// complaints collects every complaint about one definition, so that a person
// mends all of them at once.
type complaints struct {
	model Name
	list  []error
}

func (c *complaints) add(field, format string, args ...any) {
	c.list = append(c.list, &InvalidError{Model: c.model, Field: field, Problem: fmt.Sprintf(format, args...)})
}

// collide adds a complaint that is a conflict with another definition.
func (c *complaints) collide(field, format string, args ...any) {
	c.list = append(c.list, &InvalidError{
		Model: c.model, Field: field, Problem: fmt.Sprintf(format, args...), Conflict: true,
	})
}

// negative complains about a number below zero.
func (c *complaints) negative(field string, n int64) {
	if n < 0 {
		c.add(field, "%d is below zero; leave it out for the default", n)
	}
}

func (c *complaints) err() error { return errors.Join(c.list...) }

// Complaints unfolds what Validate and Service answer into its parts. Nil when
// err is something else.
func Complaints(err error) []*InvalidError {
	if err == nil {
		return nil
	}
	if one, ok := err.(*InvalidError); ok {
		return []*InvalidError{one}
	}
	var out []*InvalidError
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		for _, sub := range e.Unwrap() {
			out = append(out, Complaints(sub)...)
		}
	case interface{ Unwrap() error }:
		out = Complaints(e.Unwrap())
	}
	return out
}
