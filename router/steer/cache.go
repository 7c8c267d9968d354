package steer

// cache is what one replica is believed to hold: a list of blocks from the one used last to the one that its engine will
// drop first, as the engines keep theirs.
type cache struct {
	slot    int // of the replica in the index
	at      map[uint64]int32
	entries []entry
	free    []int32 // places in entries that hold nothing
	first   int32   // the block used last; none when there is no block
	last    int32   // and the one that goes first
	bytes   float64
	clock   float64 // bytes that ever went in or were used again
}

const none = int32(-1)

type entry struct {
	hash         uint64
	before, next int32
	bytes        int32
	used         float64 // the clock at its last use
}

func newCache(slot int) *cache {
	return &cache{slot: slot, at: map[uint64]int32{}, first: none, last: none}
}

// room is how much a cache may hold.
type room struct {
	bytes  float64
	blocks int
}

// use notes that the replica reads these blocks. It returns how long ago, in bytes used since, the oldest of the leading
// blocks that it held was used: the depth that its cache must have for them to be there still.
func (c *cache) use(x *index, blocks []Block, r room) (depth float64) {
	// First, since what goes in may drive out what is looked for.
	for _, b := range blocks {
		at, ok := c.at[b.Hash]
		if !ok {
			break
		}
		depth = max(depth, c.clock-c.entries[at].used)
	}
	for i := len(blocks) - 1; i >= 0; i-- { // so that a beginning outlives what follows it
		b := blocks[i]
		size := b.End
		if i > 0 {
			size -= blocks[i-1].End
		}
		c.clock += float64(size)
		if at, ok := c.at[b.Hash]; ok {
			c.entries[at].used = c.clock
			c.front(at)
			continue
		}
		c.add(x, b.Hash, int32(size))
		c.shrink(x, r)
	}
	return depth
}

func (c *cache) add(x *index, hash uint64, size int32) {
	at := int32(len(c.entries))
	if n := len(c.free); n > 0 {
		at, c.free = c.free[n-1], c.free[:n-1]
	} else {
		c.entries = append(c.entries, entry{})
	}
	c.entries[at] = entry{hash: hash, before: none, next: c.first, bytes: size, used: c.clock}
	c.link(at)
	c.at[hash] = at
	c.bytes += float64(size)
	x.hold(hash, c.slot)
}

// shrink drops what does not fit, the block longest unused first.
func (c *cache) shrink(x *index, r room) {
	for c.last != none && (c.bytes > r.bytes || len(c.at) > r.blocks) {
		at := c.last
		e := c.entries[at]
		c.unlink(at)
		delete(c.at, e.hash)
		c.bytes -= float64(e.bytes)
		c.free = append(c.free, at)
		x.drop(e.hash, c.slot)
	}
}

func (c *cache) front(at int32) {
	if c.first == at {
		return
	}
	c.unlink(at)
	c.entries[at].before, c.entries[at].next = none, c.first
	c.link(at)
}

// link makes an entry whose next is the first one the first.
func (c *cache) link(at int32) {
	if c.first != none {
		c.entries[c.first].before = at
	}
	c.first = at
	if c.last == none {
		c.last = at
	}
}

func (c *cache) unlink(at int32) {
	e := &c.entries[at]
	if e.before != none {
		c.entries[e.before].next = e.next
	} else {
		c.first = e.next
	}
	if e.next != none {
		c.entries[e.next].before = e.before
	} else {
		c.last = e.before
	}
}
