package inventorytest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"llmgw.io/llmgw/inventory"
)

// begun is when holds that carry out began; a fleet is parsed as of then.
var begun = time.Unix(0, 0).UTC()

// hold reads a line of the form: hold rack:r1 "PDU swap" [out].
func hold(line string) (inventory.Hold, error) {
	_, rest, _ := strings.Cut(strings.TrimSpace(line), "hold")
	domain, rest, _ := strings.Cut(strings.TrimSpace(rest), " ")
	d, err := inventory.ParseDomain(domain)
	if err != nil {
		return inventory.Hold{}, fmt.Errorf("hold: %w", err)
	}
	h := inventory.Hold{Domain: d, By: "ops"}
	rest = strings.TrimSpace(rest)
	if quoted, err := strconv.QuotedPrefix(rest); err == nil {
		h.Reason, _ = strconv.Unquote(quoted)
		rest = strings.TrimSpace(rest[len(quoted):])
	}
	switch rest {
	case "":
	case "out":
		h.From = begun
	default:
		return h, fmt.Errorf("hold %s: %s means nothing here; want a reason in quotes, then out or nothing", domain, rest)
	}
	return h, nil
}

func holdText(h inventory.Hold) string {
	s := "hold " + h.Domain.String()
	if h.Reason != "" {
		s += " " + strconv.Quote(h.Reason)
	}
	if !h.From.IsZero() {
		s += " out"
	}
	return s + "\n"
}
