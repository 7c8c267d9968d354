package steer

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// plain is a cache as slow and as simple as can be.
type plain struct {
	order []Block // End is the size; the one used last is the first
	room  room
}

func (p *plain) use(blocks []Block) {
	for i, b := range slices.Backward(blocks) {
		if i > 0 {
			b.End -= blocks[i-1].End
		}
		at := slices.IndexFunc(p.order, func(o Block) bool { return o.Hash == b.Hash })
		if at >= 0 {
			b = p.order[at]
			p.order = slices.Delete(p.order, at, at+1)
		}
		p.order = slices.Insert(p.order, 0, b)
		for at < 0 && (p.bytes() > p.room.bytes || len(p.order) > p.room.blocks) {
			p.order = p.order[:len(p.order)-1]
		}
	}
}

func (p *plain) bytes() (sum float64) {
	for _, b := range p.order {
		sum += float64(b.End)
	}
	return sum
}

func (p *plain) held(blocks []Block) (end int) {
	for _, b := range blocks {
		if !slices.ContainsFunc(p.order, func(o Block) bool { return o.Hash == b.Hash }) {
			break
		}
		end = b.End
	}
	return end
}

// The index and the caches of many replicas say what as many plain lists say,
// whatever was used in whatever order and whoever left.
func TestIndexIsWhatCachesHold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x := newIndex()
		var caches []*cache
		var plains []*plain
		grow := func() {
			caches = append(caches, newCache(len(caches)))
			plains = append(plains, &plain{room: room{
				bytes: float64(rapid.IntRange(100, 2000).Draw(t, "bytes")), blocks: rapid.IntRange(1, 12).Draw(t, "blocks"),
			}})
			x.fit(len(caches))
		}
		for range rapid.SampledFrom([]int{1, 2, 63, 64, 65, 130}).Draw(t, "replicas") {
			grow()
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			blocks := somePrompt(t)
			i := rapid.IntRange(0, len(caches)-1).Draw(t, "replica")
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				caches[i].shrink(&x, room{bytes: -1})
				plains[i].order = nil
			case 1:
				grow()
			default:
				caches[i].use(&x, blocks, plains[i].room)
				plains[i].use(blocks)
			}
			compareWithPlain(t, &x, caches, plains, somePrompt(t))
		}
	})
}

// somePrompt is a walk down a small tree, so that many begin alike.
func somePrompt(t *rapid.T) []Block {
	var blocks []Block
	hash, end := uint64(1), 0
	for range rapid.IntRange(0, 6).Draw(t, "length") {
		hash = hash*4 + uint64(rapid.IntRange(0, 2).Draw(t, "branch"))
		end += 100 + int(hash%3)
		blocks = append(blocks, Block{Hash: hash, End: end})
	}
	return blocks
}

func compareWithPlain(t *rapid.T, x *index, caches []*cache, plains []*plain, blocks []Block) {
	depth := make([]int, len(caches))
	x.match(blocks, depth, make([]uint64, x.width))
	all := map[uint64]bool{}
	for i, c := range caches {
		if want := plains[i].held(blocks); depth[i] != want {
			t.Fatalf("replica %d holds %d of %v, want %d", i, depth[i], blocks, want)
		}
		if c.bytes != plains[i].bytes() || len(c.at) != len(plains[i].order) {
			t.Fatalf("replica %d holds %v bytes in %d blocks, want %v in %d", i, c.bytes, len(c.at), plains[i].bytes(), len(plains[i].order))
		}
		for h := range c.at {
			all[h] = true
		}
	}
	if len(x.at) != len(all) {
		t.Fatalf("the index has %d blocks, the caches %d", len(x.at), len(all))
	}
}

// How deep a cache must be is how much was used since, up to the first gap, and
// also where the prompt itself drives out what it begins with.
func TestDepth(t *testing.T) {
	t.Parallel()
	endless := room{bytes: math.Inf(1), blocks: math.MaxInt}
	x := newIndex()
	x.fit(1)
	c := newCache(0)
	for i, step := range []struct {
		hashes []uint64
		room   room
		want   float64
	}{
		{[]uint64{1, 2, 3}, endless, 0},
		{[]uint64{1, 2, 3}, endless, 200}, // 3 went in first, and 2 and 1 after it
		{[]uint64{1, 4}, endless, 0},
		{[]uint64{1, 2, 3}, endless, 400}, // 2, 1, 4 and 1 were used after 3
		{[]uint64{5, 1, 2}, endless, 0},
		{[]uint64{1, 6, 2}, endless, 100}, // 2 is behind a gap; only 5 was used after 1
		{[]uint64{7, 8}, endless, 0},
		{[]uint64{1, 10, 11, 12, 13, 14, 15}, room{bytes: 400, blocks: math.MaxInt}, 200},
	} {
		var blocks []Block
		for i, h := range step.hashes {
			blocks = append(blocks, Block{Hash: h, End: 100 * (i + 1)})
		}
		if got := c.use(&x, blocks, step.room); got != step.want {
			t.Errorf("step %d: using %v needs a depth of %v, want %v", i, step.hashes, got, step.want)
		}
	}
}
