package main

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

// section is one table of the page.
type section struct {
	title string
	rows  []row
}

// row is one default. Its value is text with keys in braces: "{place name}" is
// what the code calls name at the place, a folder or a file; "{place name:bytes}"
// is written as bytes. A key without an answer is an error.
type row struct {
	what, value, why string
	// same are keys that must say the same as the value's first key: one default
	// that several rooms have to know.
	same []string
	// holds is source that must stand in a file, where the value is no single
	// number: "place: source".
	holds string
}

var keyForm = regexp.MustCompile(`\{([^{} ]+) ([^{} :]+)(?::([a-z]+))?\}`)

const head = `# Defaults

<!-- Written by scripts/defaults from the code that uses the numbers; make generate writes it again. -->

Every number a person may ask about, and why it is what it is. Names in brackets are keys of the configuration file. Names in
parentheses are set in a definition, in the agent's file or in a Go ` + "`Config`" + `. What has neither is fixed for the binaries.
`

// page writes the whole page, or joins all complaints.
func page(fsys fs.FS, sections []section) (string, error) {
	src := &source{fsys: fsys, folders: map[string]*folder{}}
	var out strings.Builder
	var errs []error
	out.WriteString(head)
	for _, s := range sections {
		fmt.Fprintf(&out, "\n## %s\n\n| what | default | why |\n|---|---|---|\n", s.title)
		for _, r := range s.rows {
			value, err := src.fill(r)
			if err != nil {
				errs = append(errs, fmt.Errorf("%q: %w", r.what, err))
			}
			fmt.Fprintf(&out, "| %s | %s | %s |\n", r.what, value, r.why)
		}
	}
	return out.String(), errors.Join(errs...)
}

// fill puts the code's numbers into a row's value.
func (src *source) fill(r row) (string, error) {
	var errs []error
	first := ""
	text := keyForm.ReplaceAllStringFunc(r.value, func(key string) string {
		v, err := src.key(key)
		if err != nil {
			errs = append(errs, err)
		}
		if first == "" {
			first = v
		}
		return v
	})
	for _, key := range r.same {
		v, err := src.key(key)
		if err == nil && v != first {
			err = fmt.Errorf("%s says %s and the row %s; make them one", key, v, first)
		}
		errs = append(errs, err)
	}
	if r.holds != "" {
		errs = append(errs, src.holds(r.holds))
	}
	return text, errors.Join(errs...)
}

func (src *source) key(key string) (string, error) {
	m := keyForm.FindStringSubmatch(key)
	if m == nil {
		return "", fmt.Errorf("%s is no key", key)
	}
	v, err := src.find(m[1], m[2])
	if err != nil {
		return "", err
	}
	return v.text(m[3] == "bytes"), nil
}

// holds looks for a piece of source.
func (src *source) holds(want string) error {
	place, piece, _ := strings.Cut(want, ": ")
	b, err := fs.ReadFile(src.fsys, place)
	if err != nil {
		return err
	}
	if !strings.Contains(string(b), piece) {
		return fmt.Errorf("%s no longer holds %q; say the default anew", place, piece)
	}
	return nil
}
