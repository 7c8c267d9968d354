package page

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"
)

// unknown stands for what nobody said.
const unknown = "not known"

// sheet is text in sections.
type sheet struct{ out strings.Builder }

// section begins one. A note stands beside its title.
func (p *sheet) section(title, note string) {
	if p.out.Len() > 0 {
		p.out.WriteByte('\n')
	}
	p.out.WriteString(title)
	if note != "" {
		p.out.WriteString("  " + clean(note))
	}
	p.out.WriteByte('\n')
}

func (p *sheet) line(s string) { p.out.WriteString("  " + clean(s) + "\n") }

// pairs are names with values. An empty value is not known.
func (p *sheet) pairs(list ...[2]string) {
	rows := make([][]string, 0, len(list))
	for _, x := range list {
		if x[1] == "" {
			x[1] = unknown
		}
		rows = append(rows, x[:])
	}
	p.columns(rows)
}

// table has a head, and a row for each thing. A column that is empty in all rows
// is left out.
func (p *sheet) table(head []string, rows [][]string) {
	var keep []int
	for i := range head {
		for _, r := range rows {
			if r[i] != "" {
				keep = append(keep, i)
				break
			}
		}
	}
	out := make([][]string, 0, 1+len(rows))
	for _, r := range append([][]string{head}, rows...) {
		var cells []string
		for _, i := range keep {
			cell := r[i]
			if cell == "" {
				cell = "-"
			}
			cells = append(cells, cell)
		}
		out = append(out, cells)
	}
	p.columns(out)
}

func (p *sheet) columns(rows [][]string) {
	t := tabwriter.NewWriter(&p.out, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		cells := make([]string, 0, len(r))
		for _, c := range r {
			cells = append(cells, clean(c))
		}
		fmt.Fprintf(t, "  %s\n", strings.Join(cells, "\t"))
	}
	_ = t.Flush() // a Builder takes everything
}

// list writes lines or a table by write, or that there is none, or that nobody
// knows.
func list[T any](p *sheet, of []T, write func([]T)) {
	switch {
	case of == nil:
		p.line(unknown)
	case len(of) == 0:
		p.line("none")
	default:
		write(of)
	}
}

func (p *sheet) writeTo(w io.Writer) error {
	_, err := io.WriteString(w, p.out.String())
	return err
}

// clean takes out what would move a terminal: names come from drivers, files and
// people.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// size is of MiB, in the unit that people read.
func size(mib int64) string {
	switch {
	case mib >= 1<<20:
		return fmt.Sprintf("%.1f TiB", float64(mib)/(1<<20))
	case mib >= 1<<10:
		return fmt.Sprintf("%.1f GiB", float64(mib)/(1<<10))
	}
	return fmt.Sprintf("%d MiB", mib)
}

// said is text for a value that may be absent.
func said[T any](v *T, format string) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf(format, *v)
}

// joined is what there is of words.
func joined(list ...string) string { return strings.Join(strings.Fields(strings.Join(list, " ")), " ") }
