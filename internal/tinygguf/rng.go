package tinygguf

// rng is splitmix64; each tensor has its own stream, so that one tensor's
// values do not depend on which others there are.
type rng struct{ s uint64 }

func newRNG(seed uint64, name string) *rng {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	r := &rng{s: seed*0x9e3779b97f4a7c15 ^ h}
	r.next()
	return r
}

func (r *rng) next() uint64 {
	r.s += 0x9e3779b97f4a7c15
	z := r.s
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// norm is near enough to a normal number of variance one: four uniform ones,
// added up.
func (r *rng) norm() float64 {
	v := r.next()
	sum := int64(v&0xffff) + int64(v>>16&0xffff) + int64(v>>32&0xffff) + int64(v>>48)
	return (float64(sum)/65536 - 2) * 1.7320508075688772
}
