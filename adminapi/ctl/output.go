package ctl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// grid is an answer for people.
type grid struct {
	head []any
	rows [][]any
	// none is said instead of a table without rows.
	none string
}

func (g *grid) add(cells ...any) { g.rows = append(g.rows, cells) }

// show prints an answer in the form that was asked for; people is called for
// tables alone.
func (s *session) show(v any, people func() grid) error {
	switch s.format {
	case "json":
		return s.json(v)
	case "yaml":
		return s.yaml(v)
	}
	g := people()
	if len(g.rows) == 0 {
		s.note("%s", g.none)
		return nil
	}
	t := table.NewWriter()
	t.SetOutputMirror(s.out)
	t.SetStyle(plainStyle())
	t.AppendHeader(g.head)
	for _, row := range g.rows {
		for i, c := range row {
			if text, ok := c.(string); ok {
				row[i] = printable(text)
			}
		}
		t.AppendRow(row)
	}
	t.Render()
	return nil
}

// plainStyle has no lines, so that columns can be cut out by other tools.
func plainStyle() table.Style {
	s := table.StyleDefault
	s.Options = table.OptionsNoBordersAndSeparators
	s.Box.PaddingLeft, s.Box.PaddingRight = "", "  "
	s.Format.Header = text.FormatUpper
	return s
}

// printable keeps what others wrote from steering the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
}

// say prints a sentence where nothing but a table would be printed.
func (s *session) say(v any, format string, args ...any) error {
	switch s.format {
	case "json":
		return s.json(v)
	case "yaml":
		return s.yaml(v)
	}
	_, err := fmt.Fprintln(s.out, printable(fmt.Sprintf(format, args...)))
	return err
}

func (s *session) json(v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("print the answer: %w", err)
	}
	_, err := s.out.Write(b.Bytes())
	return err
}

// yaml goes by way of JSON, so that both have the same names.
func (s *session) yaml(v any) error {
	j, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("print the answer: %w", err)
	}
	y, err := yaml.JSONToYAML(j)
	if err != nil {
		return fmt.Errorf("print the answer: %w", err)
	}
	_, err = s.out.Write(y)
	return err
}

// whole prints what has no table: YAML, unless JSON is asked for.
func (s *session) whole(v any) error {
	if s.format == "json" {
		return s.json(v)
	}
	return s.yaml(v)
}
