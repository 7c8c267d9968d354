package steer

import "time"

// The rates before anything was measured. Only their order matters then, since all replicas have the same.
const (
	firstPerToken = 1.0 / 8000 // seconds that a token of a prompt takes: a mid-sized model on one current GPU
	firstBytes    = 4.0        // bytes of a token, of English text
)

// remembered is over how many samples a mean is taken, about.
const remembered = 256

// mean is a mean in which old samples fade.
type mean struct{ sum, n float64 }

func (m *mean) add(v float64) { m.ratio(v, 1) }

// ratio makes it the mean of v over w.
func (m *mean) ratio(v, w float64) {
	const keep = 1 - 1.0/remembered
	m.sum, m.n = m.sum*keep+v, m.n*keep+w
}

func (m *mean) or(standard float64) float64 {
	if m.n <= 0 {
		return standard
	}
	return m.sum / m.n
}

// speed is how long prompts take to read, in seconds: so much for a request and so much for each of its new tokens. It
// is fitted to what was measured by least squares. Where all prompts have about the same length that cannot be told
// apart, so a line through the origin is mixed in with the weight of one sample that differs by a third of the mean.
type speed struct {
	tokens, seconds, squares, product mean
	perRequest, perToken              float64
}

const likeness = 1.0 / 9 // a third, squared

func newSpeed() speed { return speed{perToken: firstPerToken} }

// seconds is what so many new tokens take.
func (s *speed) expect(tokens float64) float64 { return s.perRequest + s.perToken*tokens }

// learn takes a sample and returns what it took it for. One that is far off moves the rates by a bounded amount, so that a single hung request does not
// make a fleet look slow.
func (s *speed) learn(tokens, seconds float64) float64 {
	if s.tokens.n >= 8 {
		e := s.expect(tokens)
		seconds = min(max(seconds, e/8), 8*e)
	}
	s.tokens.add(tokens)
	s.seconds.add(seconds)
	s.squares.add(tokens * tokens)
	s.product.add(tokens * seconds)
	t, sec := s.tokens.or(1), s.seconds.or(0)
	through := sec / t
	spread := max(s.squares.or(0)-t*t, 0)
	slope := (s.product.or(0) - t*sec + likeness*t*t*through) / (spread + likeness*t*t)
	s.perToken = max(slope, through/1000)
	s.perRequest = max(sec-s.perToken*t, 0)
	if s.perRequest == 0 {
		s.perToken = through
	}
	return seconds
}

func seconds(d time.Duration) float64 { return d.Seconds() }

func duration(s float64) time.Duration {
	const most = float64(24 * time.Hour)
	return time.Duration(min(s*float64(time.Second), most))
}
