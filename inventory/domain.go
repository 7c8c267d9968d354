package inventory

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Domain is one place of the building, or one node.
type Domain struct {
	Level Level
	Name  string
}

// MaxDomainName is how many bytes the name of a domain may have.
const MaxDomainName = 128

// ParseDomain reads what [Domain.String] writes.
func ParseDomain(text string) (Domain, error) {
	level, name, ok := strings.Cut(text, ":")
	d := Domain{Level: Level(level), Name: name}
	switch {
	case !ok || name == "" || !d.Level.Valid():
		return Domain{}, fmt.Errorf("%w: %q names no domain: want level:name, with a level of site, room, row, rack, pdu or node", ErrInvalid, text)
	case len(name) > MaxDomainName || strings.ContainsFunc(name, unprintable):
		return Domain{}, fmt.Errorf("%w: the name of a domain has at most %d bytes and no control characters", ErrInvalid, MaxDomainName)
	}
	return d, nil
}

// String is the level and the name with a colon between: "rack:r12-07".
func (d Domain) String() string { return string(d.Level) + ":" + d.Name }

// MarshalText writes what [ParseDomain] reads.
func (d Domain) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (d *Domain) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDomain(string(text))
	return err
}

// Holds reports whether the node stands in the domain.
func (d Domain) Holds(n *Node) bool { return n.Domain(d.Level) == d.Name }

// width is larger for wider levels.
func (l Level) width() int { return slices.Index(Levels, l) }

// unprintable are control characters, and what is no text.
func unprintable(r rune) bool { return r < ' ' || r == 0x7f || r == utf8.RuneError }
