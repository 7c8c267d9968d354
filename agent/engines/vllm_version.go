package engines

import (
	"fmt"
	"regexp"
	"strconv"
)

// version is the beginning of a version: major, minor, patch.
type version [3]int

// Versions of vLLM from which on it knows something. What it does not know ends
// it before it starts, so that an older one is not told, and one whose version is
// not known is told only what it cannot do without.
var (
	// vllmKVBytes has --kv-cache-memory-bytes.
	vllmKVBytes = version{0, 10, 2}
	// vllmNodes runs one model on several nodes without Ray: --nnodes and its like.
	vllmNodes = version{0, 12, 0}
	// vllmQuietPaths has --disable-access-log-for-endpoints.
	vllmQuietPaths = version{0, 16, 0}
	// vllmGrace has --shutdown-timeout.
	vllmGrace = version{0, 18, 0}
	// vllmUUIDs takes a device by its UUID, which is the only name that an instance
	// of a partitioned card has. Versions up to 0.22 end with a ValueError; 0.24 is
	// the first that was reported to take it.
	vllmUUIDs = version{0, 24, 0}
)

var versionStart = regexp.MustCompile(`^v?(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?`)

// versionOf reads "0.18.1rc2.dev3+cu129". ok is false where it is none.
func versionOf(s string) (v version, ok bool) {
	m := versionStart.FindStringSubmatch(s)
	if m == nil {
		return version{}, false
	}
	for i := range v {
		if m[i+1] != "" {
			v[i], _ = strconv.Atoi(m[i+1]) // the expression lets only numbers through
		}
	}
	return v, true
}

// String is the version as its makers write it.
func (v version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

// atLeast reports whether v is o or newer.
func (v version) atLeast(o version) bool {
	for i := range v {
		if v[i] != o[i] {
			return v[i] > o[i]
		}
	}
	return true
}

// knows reports whether a build is known to have what came with a version.
func knows(build string, since version) bool {
	v, ok := versionOf(build)
	return ok && v.atLeast(since)
}

// lacks reports whether a build is known not to have it.
func lacks(build string, since version) bool {
	v, ok := versionOf(build)
	return ok && !v.atLeast(since)
}
