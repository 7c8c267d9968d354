package simengine

import (
	"container/list"
	"hash/fnv"
	"strconv"
	"sync"
)

// prefixCache remembers blocks of prompts by the hash of everything up to their end, and forgets those that were used
// longest ago.
type prefixCache struct {
	mu    sync.Mutex
	off   bool
	grain int
	room  int
	used  int // blocks held by running requests
	known map[uint64]*list.Element
	order *list.List // of hashes, the newest in front
}

func newPrefixCache(t Temper) *prefixCache {
	return &prefixCache{off: t.NoPrefixCache, grain: t.BlockSize, room: t.KVBlocks, known: map[uint64]*list.Element{}, order: list.New()}
}

// admit says how many tokens of the prompt are cached, and keeps its whole blocks for later prompts. At least one token
// is never cached: an engine has to compute something to go on from. Adapters do not share.
func (c *prefixCache) admit(model string, prompt []string) (cached int) {
	if c.off {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	hash := fnv.New64a()
	hash.Write([]byte(model))
	hit := true
	for end := c.grain; end <= len(prompt); end += c.grain {
		for _, token := range prompt[end-c.grain : end] {
			hash.Write([]byte(strconv.Itoa(len(token)) + ":" + token))
		}
		hit = c.touch(hash.Sum64()) && hit
		if hit && end < len(prompt) {
			cached = end
		}
	}
	return cached
}

// touch makes a block the newest and reports whether it was there.
func (c *prefixCache) touch(sum uint64) bool {
	if at, ok := c.known[sum]; ok {
		c.order.MoveToFront(at)
		return true
	}
	c.known[sum] = c.order.PushFront(sum)
	if c.order.Len() > c.room {
		delete(c.known, c.order.Remove(c.order.Back()).(uint64))
	}
	return false
}

// hold counts the blocks that a running request needs; the result gives them back.
func (c *prefixCache) hold(tokens int) (release func()) {
	blocks := (tokens + c.grain - 1) / c.grain
	add := func(n int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.used += n
	}
	add(blocks)
	return func() { add(-blocks) }
}

// usage gives the share of the cache that running requests hold, from 0 to 1.
func (c *prefixCache) usage() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return min(1, float64(c.used)/float64(c.room))
}
