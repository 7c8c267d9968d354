package router_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzRelay takes any bytes for an engine's stream: wherever they are cut, the
// client gets the same bytes, and the row is the same.
func FuzzRelay(f *testing.F) {
	for _, r := range recordings(f) {
		if len(r.whole) < 1500 {
			f.Add(r.whole, uint16(7), uint16(200))
		}
	}
	f.Fuzz(func(t *testing.T, whole []byte, one, two uint16) {
		if len(whole) == 0 {
			return
		}
		i, j := int(one)%(len(whole)+1), int(two)%(len(whole)+1)
		i, j = min(i, j), max(i, j)
		pieces := slices.DeleteFunc([][]byte{whole[:i], whole[i:j], whole[j:]}, func(p []byte) bool { return len(p) == 0 })
		for _, body := range []string{usageBody, streamBody} {
			b := newBare(t)
			want := slices.Clone(b.stream(t, chatPath, body, whole))
			if got := b.stream(t, chatPath, body, slices.Clone(pieces)...); !bytes.Equal(got, want) {
				t.Fatalf("%q cut at %d and %d came as\n%q\nand in one piece as\n%q", whole, i, j, got, want)
			}
			rows := b.ship(t)
			if len(rows) != 2 || !sameRow(&rows[0], &rows[1]) {
				t.Fatalf("%q cut at %d and %d has other rows:\n%s", whole, i, j, cmp.Diff(rows[0], rows[len(rows)-1]))
			}
		}
	})
}
