package steer

import (
	"math"
	"time"
)

// demand measures how much is asked of a model, over the horizon. Old times fade.
type demand struct {
	asks, over float64 // requests, and the seconds in which they came
	busy       float64 // share of replicas that had a prompt to read
	at         time.Time

	gap          float64 // seconds since the look before
	seen, reader int     // replicas that this look saw, and those of them that were busy
}

// look begins a look at the replicas for one request.
func (d *demand) look(now time.Time) {
	d.settle()
	d.gap = 0
	if !d.at.IsZero() {
		d.gap = max(seconds(now.Sub(d.at)), 0)
	}
	d.at = now
	keep := math.Exp(-d.gap / seconds(horizon))
	d.asks *= keep
	d.over = d.over*keep + seconds(horizon)*(1-keep)
}

func (d *demand) saw(busy bool) {
	d.seen++
	if busy {
		d.reader++
	}
}

// settle adds what the last look saw. Requests that come at random see the mean over time.
func (d *demand) settle() {
	if d.seen > 0 {
		keep := math.Exp(-d.gap / seconds(horizon))
		d.busy = d.busy*keep + (1-keep)*float64(d.reader)/float64(d.seen)
	}
	d.seen, d.reader = 0, 0
}

func (d *demand) asked() { d.asks++ }

// rate is the requests a second. In the first second it is what came in it.
func (d *demand) rate() float64 { return d.asks / max(d.over, 1) }
