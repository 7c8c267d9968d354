package release

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// maxTag bounds a tag: it is part of a path.
const maxTag = 64

var (
	tag = regexp.MustCompile(`^v(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?$`)
	// described is what git describe adds for commits after a tag.
	described = regexp.MustCompile(`-\d+-g[0-9a-f]{4,40}(-dirty)?$`)
	number    = regexp.MustCompile(`^(0|[1-9]\d*)$`)
	digits    = regexp.MustCompile(`^\d+$`)
)

// CheckTag answers nil for a release's tag: vMAJOR.MINOR.PATCH, perhaps with a
// pre-release such as -rc.1 behind it.
func CheckTag(v string) error {
	if len(v) <= maxTag {
		if _, ok := parse(v); ok {
			return nil
		}
	}
	return fmt.Errorf("%q is no release tag; write one such as v1.2.3 or v1.2.3-rc.1", clip(v))
}

// version is a tag, taken apart.
type version struct {
	core [3]int
	pre  []string // nil: it is a release and no candidate for one
}

func parse(v string) (version, bool) {
	m := tag.FindStringSubmatch(v)
	if m == nil {
		return version{}, false
	}
	var out version
	for i := range out.core {
		n, err := strconv.Atoi(m[i+1])
		if err != nil {
			return version{}, false
		}
		out.core[i] = n
	}
	if m[4] == "" {
		return out, true
	}
	out.pre = strings.Split(m[4], ".")
	for _, p := range out.pre {
		if digits.MatchString(p) && !number.MatchString(p) {
			return version{}, false // no leading zeros
		}
	}
	return out, true
}

// Newer reports whether a tag may follow what runs: versions only rise. What was
// built from commits after a tag counts as that tag; what says no version at all,
// as a build without one does, may be followed by any.
func Newer(next, runs string) bool {
	n, ok := parse(next)
	if !ok {
		return false
	}
	runs, _, _ = strings.Cut(runs, "+")
	r, ok := parse(described.ReplaceAllString(runs, ""))
	return !ok || n.compare(r) > 0
}

// compare is negative when v comes before w, as semver.org orders them.
func (v version) compare(w version) int {
	for i := range v.core {
		if c := cmp.Compare(v.core[i], w.core[i]); c != 0 {
			return c
		}
	}
	if len(v.pre) == 0 || len(w.pre) == 0 {
		return cmp.Compare(len(w.pre), len(v.pre)) // a release comes after its candidates
	}
	for i := range min(len(v.pre), len(w.pre)) {
		if c := comparePre(v.pre[i], w.pre[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(v.pre), len(w.pre))
}

func comparePre(a, b string) int {
	an, bn := number.MatchString(a), number.MatchString(b)
	switch {
	case an && bn:
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	case an:
		return -1 // numbers come before words
	case bn:
		return 1
	}
	return cmp.Compare(a, b)
}
