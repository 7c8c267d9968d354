package fleetsim

import (
	"fmt"
	"strings"
	"time"
)

// network is how messages between agents and a control plane travel. Each takes
// a way of its own, so that a later one may come first.
type network struct {
	least, most time.Duration
	// late is the share of messages that take up to lateBy.
	late   float64
	lateBy time.Duration
	// loss and dup are the shares of those that never come, and come twice.
	loss, dup float64
	// slow is the share of the control plane's own steps that take up to slowBy
	// more: a pause, or a store that is busy.
	slow   float64
	slowBy time.Duration
	// facts is the share of beats with which a machine has new facts: disks fill
	// and empty. A decision on the node as it was is overtaken then.
	facts float64
}

func usualNetwork() network {
	return network{least: time.Millisecond, most: 20 * time.Millisecond}
}

const netKeys = "delay=2ms-40ms late=1%:3s loss=0.1% dup=0.1% slow=1%:2s facts=1%"

func (n *network) read(text string) error {
	w := parseWords(text)
	if v, ok := w.value("delay"); ok {
		a, b, _ := strings.Cut(v, "-")
		least, err1 := time.ParseDuration(a)
		most, err2 := time.ParseDuration(b)
		if err1 != nil || err2 != nil || least < 0 || most < least {
			return fmt.Errorf("delay=%s is no range of spans; write one such as delay=2ms-40ms", v)
		}
		n.least, n.most = least, most
	}
	for key, to := range map[string]struct {
		share *float64
		by    *time.Duration
	}{"late": {&n.late, &n.lateBy}, "slow": {&n.slow, &n.slowBy}} {
		if v, ok := w.value(key); ok {
			part, by, _ := strings.Cut(v, ":")
			f, isShare := share(part)
			d, err := time.ParseDuration(by)
			if !isShare || err != nil || d < 0 {
				w.fail("%s=%s is no share and span; write one such as %s=1%%:3s", key, v, key)
			}
			*to.share, *to.by = f, d
		}
	}
	for key, field := range map[string]*float64{"loss": &n.loss, "dup": &n.dup, "facts": &n.facts} {
		if v, ok := w.value(key); ok {
			f, isShare := share(v)
			if !isShare {
				return fmt.Errorf("%s=%s is no share; write one such as %s=0.1%%", key, v, key)
			}
			*field = f
		}
	}
	return w.done(0, netKeys)
}

// send lets a message travel between an agent and a control plane; what is cut
// off loses it, also on its way.
func (s *sim) send(a *agent, deliver func()) {
	if a.isCut(s.now) || s.chance(s.sc.net.loss) {
		return
	}
	for range 1 + s.oneIn(s.sc.net.dup) {
		s.after(s.delay(), func() {
			if !a.isCut(s.now) {
				deliver()
			}
		})
	}
}

func (s *sim) oneIn(share float64) int {
	if s.chance(share) {
		return 1
	}
	return 0
}

// chance draws only where there is something to draw, so that a calm network
// leaves the rest of a run as it is.
func (s *sim) chance(share float64) bool { return share > 0 && s.rng.Float64() < share }

func (s *sim) delay() time.Duration {
	n := &s.sc.net
	d := s.between(n.least, n.most)
	if s.chance(n.late) {
		d += s.between(0, n.lateBy)
	}
	return d
}

// takes is how long a step of the control plane takes.
func (s *sim) takes(most time.Duration) time.Duration {
	d := s.between(time.Millisecond, most)
	if s.chance(s.sc.net.slow) {
		d += s.between(0, s.sc.net.slowBy)
	}
	return d
}

func (s *sim) between(least, most time.Duration) time.Duration {
	return least + time.Duration(s.rng.Int64N(int64(most-least)+1))
}
