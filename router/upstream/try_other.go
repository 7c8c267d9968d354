//go:build !unix

package upstream

// canTry says that reading a socket can be tried without waiting.
const canTry = false

func (r *reader) attempt(uintptr) bool { return true }

func (r *reader) look(uintptr) bool { return true }

// quiet reports whether nothing came that nobody asked for, as far as it can be
// told without waiting.
func (r *reader) quiet() bool { return r.from == r.to }
