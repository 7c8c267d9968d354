package steer_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/router/steer"
)

func read(h steer.Hasher, text string, under ...string) *steer.Prompt {
	p := &steer.Prompt{}
	for _, u := range under {
		h.Under(p, []byte(u))
	}
	h.Add(p, []byte(text))
	return p
}

// Prompts share the blocks before the first byte in which they differ, and none
// after it.
func TestBlocksStandForTheBeginning(t *testing.T) {
	t.Parallel()
	h := steer.NewHasher()
	text := strings.Repeat("0123456789abcdef", 4096) // 64 KiB, so that most blocks are alike
	whole := read(h, text)
	for _, at := range []int{0, 255, 256, 257, 4095, 4096, 5000, 32 << 10, 65535} {
		changed := []byte(text)
		changed[at] ^= 1
		other := read(h, string(changed))
		for i, b := range whole.Blocks {
			if same := b.Hash == other.Blocks[i].Hash; same != (b.End <= at) {
				t.Errorf("byte %d changed: block %d, which ends at %d, is the same: %v", at, i, b.End, same)
			}
		}
	}
	longer := read(h, text+"more")
	if diff := cmp.Diff(whole.Blocks, longer.Blocks); diff != "" {
		t.Errorf("a longer prompt begins otherwise:\n%s", diff)
	}
}

// Equal blocks at different places, and in another order, are different blocks.
func TestBlocksKnowTheirPlace(t *testing.T) {
	t.Parallel()
	h := steer.NewHasher()
	a, b := strings.Repeat("a", 256), strings.Repeat("b", 256)
	seen := map[uint64]string{}
	for _, text := range []string{a + a + a, b + a + a, a + b + a, b + b + a} {
		for _, block := range read(h, text).Blocks {
			before := text[:block.End]
			if other, ok := seen[block.Hash]; ok && other != before {
				t.Errorf("%q and %q look alike", other, before)
			}
			seen[block.Hash] = before
		}
	}
}

func TestUnderKeepsApart(t *testing.T) {
	t.Parallel()
	h := steer.NewHasher()
	text := strings.Repeat("x", 300)
	seen := map[uint64]string{}
	for _, under := range [][]string{nil, {"banana"}, {"cherry"}, {"banana", "cherry"}, {"cherry", "banana"}} {
		hash, what := read(h, text, under...).Blocks[0].Hash, strings.Join(under, " under ")
		if other, ok := seen[hash]; ok {
			t.Errorf("%q and %q look alike", other, what)
		}
		seen[hash] = what
	}
	if read(steer.NewHasher(), text).Blocks[0].Hash == read(h, text).Blocks[0].Hash {
		t.Error("two hashers make the same hashes, so that a client could foresee them")
	}
}

func TestBlocksAreBounded(t *testing.T) { // not parallel: it counts allocations
	h, p := steer.NewHasher(), &steer.Prompt{}
	text := bytes.Repeat([]byte("y"), 4<<20)
	h.Add(p, text)
	if n, end := len(p.Blocks), p.Blocks[len(p.Blocks)-1].End; n != 128 || end < 1<<20 || p.Bytes != len(text) {
		t.Errorf("4 MiB are %d blocks up to byte %d of %d", n, end, p.Bytes)
	}
	if n := testing.AllocsPerRun(10, func() { p.Reset(); h.Add(p, text) }); n > 0 {
		t.Errorf("hashing costs %v allocations", n)
	}
	for _, short := range []string{"", "y", strings.Repeat("y", 255)} {
		if q := read(h, short); len(q.Blocks) != 0 || q.Bytes != len(short) {
			t.Errorf("%d bytes are %d blocks", len(short), len(q.Blocks))
		}
	}
}

func BenchmarkHash(b *testing.B) {
	for name, size := range map[string]int{"600": 600, "64k": 64 << 10, "4M": 4 << 20} {
		b.Run(name, func(b *testing.B) {
			h, p := steer.NewHasher(), &steer.Prompt{}
			text := bytes.Repeat([]byte("y"), size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				p.Reset()
				h.Add(p, text)
			}
		})
	}
}
