package fleetsim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// words are one line: what stands by place, what stands by key, and the text
// after a colon that stands alone.
type words struct {
	at   []string
	by   map[string]string
	text string
	err  error // the first thing that did not read
}

func parseWords(line string) *words {
	head, text, _ := strings.Cut(line+" ", " : ")
	w := &words{by: map[string]string{}, text: strings.TrimSpace(text)}
	for _, f := range strings.Fields(head) {
		if k, v, ok := strings.Cut(f, "="); ok {
			w.by[k] = v
		} else {
			w.at = append(w.at, f)
		}
	}
	return w
}

func (w *words) arg(i int) string {
	if i < len(w.at) {
		return w.at[i]
	}
	return ""
}

// value takes a key; ok is false when it does not stand there.
func (w *words) value(key string) (v string, ok bool) {
	v, ok = w.by[key]
	delete(w.by, key)
	return v, ok
}

// flag takes a word that stands by place.
func (w *words) flag(name string) bool {
	i := slices.Index(w.at, name)
	if i < 0 {
		return false
	}
	w.at = slices.Delete(slices.Clone(w.at), i, i+1)
	return true
}

func (w *words) num(key string, absent int) int {
	v, ok := w.value(key)
	if !ok {
		return absent
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 || n > 1<<24 {
		w.fail("%s=%s is no number; write one such as %s=8", key, v, key)
	}
	return n
}

func (w *words) span(key string, absent time.Duration) time.Duration {
	v, ok := w.value(key)
	if !ok {
		return absent
	}
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 {
		w.fail("%s=%s is no span; write one such as %s=90s or %s=2h", key, v, key, key)
	}
	return d
}

// share reads 1.5% or 0.015 as a number from 0 to 1.
func share(v string) (float64, bool) {
	digits, percent := strings.CutSuffix(v, "%")
	f, err := strconv.ParseFloat(digits, 64)
	if percent {
		f /= 100
	}
	return f, err == nil && f >= 0 && f <= 1
}

func (w *words) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// done says what did not read, or what was left over; want lists the keys there
// are.
func (w *words) done(places int, want string) error {
	switch {
	case w.err != nil:
		return w.err
	case len(w.by) > 0:
		return fmt.Errorf("%s= means nothing here; want %s", slices.Sorted(maps.Keys(w.by))[0], want)
	case len(w.at) > places:
		return fmt.Errorf("%q means nothing here; want %s", w.at[places], want)
	}
	return nil
}
