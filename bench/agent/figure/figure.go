package figure

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Figure is one figure, and what it must not exceed.
type Figure struct {
	What string  `json:"what"`
	Is   float64 `json:"is"`
	Unit string  `json:"unit"`
	// Most is the goal. Nil: the figure is there to compare with.
	Most *float64 `json:"most,omitempty"`
}

// Goal is a figure with a goal.
func Goal(what string, is, most float64, unit string) Figure {
	return Figure{What: what, Is: is, Unit: unit, Most: &most}
}

// Plain is a figure without one.
func Plain(what string, is float64, unit string) Figure {
	return Figure{What: what, Is: is, Unit: unit}
}

// Met reports whether the goal is met, where there is one.
func (f Figure) Met() bool { return f.Most == nil || f.Is <= *f.Most }

// Print writes a table, and reports whether every goal in it is met.
func Print(w io.Writer, list []Figure) (met bool) {
	cells := [][]string{{"figure", "is", "goal", ""}, {}}
	met = true
	for _, f := range list {
		row := []string{f.What, number(f.Is, f.Unit), "", ""}
		if f.Most != nil {
			row[2], row[3] = number(*f.Most, f.Unit), map[bool]string{true: "met", false: "MISSED"}[f.Met()]
		}
		met = met && f.Met()
		cells = append(cells, row)
	}
	width := make([]int, 4)
	for _, row := range cells {
		for i, c := range row {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	for _, row := range cells {
		for i := range width {
			c, fill := "", "-"
			if len(row) > 0 {
				c, fill = row[i], " "
			}
			fmt.Fprintf(w, "| %s%s ", c, strings.Repeat(fill, width[i]-utf8.RuneCountInString(c)))
		}
		fmt.Fprintln(w, "|")
	}
	return met
}

// number writes a figure with three digits, and all of those before the point.
func number(v float64, unit string) string {
	digits := 2
	for limit := 10.0; digits > 0 && math.Abs(v) >= limit; limit *= 10 {
		digits--
	}
	if v == math.Trunc(v) {
		digits = 0
	}
	return strings.TrimSpace(fmt.Sprintf("%.*f %s", digits, v, unit))
}

// Write keeps figures in a file, for Read.
func Write(path string, list []Figure) error {
	b, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o600)
}

// Read gives the figures that Write kept.
func Read(path string) ([]Figure, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []Figure
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return list, nil
}

// Report prints figures, keeps them where a path is given, and reports whether
// every goal is met.
func Report(w io.Writer, path string, list []Figure) (met bool, err error) {
	met = Print(w, list)
	if path == "" {
		return met, nil
	}
	return met, Write(path, list)
}

// Percentile is the least of the spans that so many hundredths of them do not
// exceed. Of none it is zero.
func Percentile(list []time.Duration, hundredths float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[max(0, int(math.Ceil(hundredths/100*float64(len(sorted))))-1)]
}
