package discovery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"llmgw.io/llmgw/inventory"
)

// mostLabel is the longest key or value, in bytes.
const mostLabel = 256

// labels gathers this machine's labels. One that cannot be used is left out
// alone; the others stay.
func (p *Prober) labels(_ context.Context, f *inventory.Facts) error {
	var errs []error
	all := maps.Clone(p.cfg.Labels)
	if all == nil {
		all = map[string]string{}
	}
	take := func(list []string, from string) {
		for _, line := range list {
			line = strings.TrimSpace(line)
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			k, v, ok := strings.Cut(line, "=")
			if !ok {
				errs = append(errs, fmt.Errorf("%s: %q is no label; write key=value", from, clip(line)))
				continue
			}
			all[strings.TrimSpace(k)] = strings.TrimSpace(v)
		}
	}
	if p.cfg.LabelsFile != "" {
		text, err := read(p.cfg.LabelsFile)
		errs = append(errs, err)
		take(strings.Split(text, "\n"), p.cfg.LabelsFile)
	}
	take(strings.Split(p.cfg.LabelList, ","), "the list of labels")
	// In order: warnings are facts, and the same facts are to read the same.
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if !labelKey(k) || !labelValue(all[k]) {
			delete(all, k)
			errs = append(errs, fmt.Errorf("the label %q is left out: a key has letters, digits and . _ - /, a value is one short line", clip(k)))
		}
	}
	if len(all) > 0 {
		f.Labels = all
	}
	return errors.Join(errs...)
}

func labelKey(s string) bool {
	return s != "" && len(s) <= mostLabel && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-/", r)
	})
}

func labelValue(s string) bool {
	return len(s) <= mostLabel && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\ufffd' })
}

// clip shortens what others wrote to what fits into a sentence.
func clip(s string) string {
	if len(s) > 60 {
		s = strings.ToValidUTF8(s[:60], "") + "…"
	}
	return s
}
