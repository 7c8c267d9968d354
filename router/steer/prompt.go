package steer

import (
	"hash/maphash"
	"math/bits"
)

// maxBlocks bounds the blocks of one prompt: about a megabyte of it. What comes after is taken for new.
const maxBlocks = 128

// Block is a piece of a prompt.
type Block struct {
	// Hash stands for the block and for all before it.
	Hash uint64
	// End is how many bytes of the prompt end with it.
	End int
}

// Prompt is what is known of a request's text: hashes of its beginning, and how long it is. The zero value is an empty
// prompt. It is filled anew for every request, so that its memory can be used again.
type Prompt struct {
	// Blocks are in order. The last bytes, which fill no block, are in none.
	Blocks []Block
	// Bytes is the whole length.
	Bytes int
	// Tokens is the whole length in tokens where the client counted them; 0 for unknown.
	Tokens int

	chain uint64
}

// Reset makes it an empty prompt and keeps its memory.
func (p *Prompt) Reset() { *p = Prompt{Blocks: p.Blocks[:0]} }

// Hasher makes the hashes of prompts. Prompts of different hashers have nothing in common. Make one with [NewHasher].
type Hasher struct{ seed maphash.Seed }

// NewHasher makes a hasher whose hashes nobody outside can foresee, so that no client can make its prompt look like
// another's.
func NewHasher() Hasher { return Hasher{seed: maphash.MakeSeed()} }

// Under makes all that follows depend on what stands before the text in an engine's prompt, or decides which cache it
// is looked for in: an adapter, a list of tools. Call it before [Hasher.Add].
func (h Hasher) Under(p *Prompt, what []byte) { p.chain = chain(p.chain, maphash.Bytes(h.seed, what)) }

// Add takes the text of a prompt, once, in a single pass.
func (h Hasher) Add(p *Prompt, text []byte) {
	p.Bytes = len(text)
	for at := 0; len(p.Blocks) < maxBlocks; {
		end := at + blockAfter(at)
		if end > len(text) {
			return
		}
		p.chain = chain(p.chain, maphash.Bytes(h.seed, text[at:end]))
		p.Blocks = append(p.Blocks, Block{Hash: p.chain, End: end})
		at = end
	}
}

// blockAfter is the size of the block that begins at a byte. Blocks grow with the distance from the beginning: where
// prompts part within the first lines a few hundred bytes count, and where they part after a hundred kilobytes they do
// not, and a decision looks each block up.
func blockAfter(at int) int {
	switch {
	case at < 4<<10:
		return 256
	case at < 32<<10:
		return 1 << 10
	case at < 128<<10:
		return 4 << 10
	}
	return 16 << 10
}

// chain mixes a block's hash into that of all before it. Both factors are odd constants without a pattern (the fractions
// of the square roots of 2 and 3), so that no order of blocks looks like another.
func chain(before, block uint64) uint64 {
	hi, lo := bits.Mul64(before^0x6a09e667f3bcc909, block^0xbb67ae8584caa73b)
	return hi ^ lo
}
