package steer

import "math/bits"

// index says for each block which replicas hold it, so that one look-up a block serves all of them.
type index struct {
	at   map[uint64]int32 // block to its place
	free []int32
	// holders has a bit a replica, width words a block.
	holders []uint64
	width   int
	places  int // ever taken
}

func newIndex() index { return index{at: map[uint64]int32{}, width: 1} }

func (x *index) words(place int32) []uint64 {
	from := int(place) * x.width
	return x.holders[from : from+x.width]
}

// fit makes room for so many replicas.
func (x *index) fit(slots int) {
	width := (slots + 63) / 64
	if width <= x.width {
		return
	}
	wider := make([]uint64, x.places*width)
	for p := range x.places {
		copy(wider[p*width:], x.words(int32(p)))
	}
	x.holders, x.width = wider, width
}

func (x *index) hold(hash uint64, slot int) {
	place, ok := x.at[hash]
	if !ok {
		place = x.place()
		x.at[hash] = place
	}
	x.words(place)[slot/64] |= 1 << (slot % 64)
}

func (x *index) place() int32 {
	if n := len(x.free); n > 0 {
		place := x.free[n-1]
		x.free = x.free[:n-1]
		return place
	}
	for range x.width {
		x.holders = append(x.holders, 0)
	}
	x.places++
	return int32(x.places - 1)
}

func (x *index) drop(hash uint64, slot int) {
	place, ok := x.at[hash]
	if !ok {
		return
	}
	words := x.words(place)
	words[slot/64] &^= 1 << (slot % 64)
	for _, w := range words {
		if w != 0 {
			return
		}
	}
	delete(x.at, hash)
	x.free = append(x.free, place)
}

// match writes into depth, for each replica, how many bytes of the prompt's beginning it holds. alive is room of the
// index's width for its own use.
func (x *index) match(blocks []Block, depth []int, alive []uint64) {
	clear(depth)
	for i := range alive {
		alive[i] = ^uint64(0)
	}
	held := 0
	for _, b := range blocks {
		place, ok := x.at[b.Hash]
		if !ok {
			break
		}
		left := uint64(0)
		for i, w := range x.words(place) {
			settle(depth, i, alive[i]&^w, held)
			alive[i] &= w
			left |= alive[i]
		}
		if left == 0 {
			return
		}
		held = b.End
	}
	for i, w := range alive {
		settle(depth, i, w, held)
	}
}

// settle notes that the replicas of a word hold so much and no more.
func settle(depth []int, word int, which uint64, held int) {
	for held > 0 && which != 0 {
		slot := word*64 + bits.TrailingZeros64(which)
		if slot >= len(depth) {
			return
		}
		depth[slot] = held
		which &= which - 1
	}
}
