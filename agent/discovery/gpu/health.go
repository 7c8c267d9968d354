package gpu

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// watch is how long a card stays out after its trouble has ended.
	watch = 10 * time.Minute
	// falls within fallSpan are too many: such a card stays out.
	falls    = 3
	fallSpan = 24 * time.Hour
	// slowedFor is how long a card may be slowed before it is told.
	slowedFor = 2 * time.Minute
	// joining is how long a card may take to join its fabric.
	joining = 5 * time.Minute
	// noted is how long a message that takes nothing out is told.
	noted = time.Hour
	// mostEarly bounds messages of cards that were not seen yet.
	mostEarly = 64
)

// Event is a message about one card.
type Event struct {
	At time.Time `json:"at"`
	// PCI or UUID names the card.
	PCI  string `json:"pci,omitempty"`
	UUID string `json:"uuid,omitempty"`
	// XID is the driver's number for what happened. OffBus says that it cannot be
	// reached any more.
	XID    int  `json:"xid,omitempty"`
	OffBus bool `json:"off_bus,omitempty"`
	// Old says that it is from before the agent started: what was done about it
	// since is not known.
	Old bool `json:"old,omitempty"`
}

// Health remembers what happened to each card of a machine. It is a value that
// one goroutine tells of what it saw and heard; time comes in as an argument.
type Health struct {
	cards map[string]*record // by key
	early []Event
}

// record is what is remembered of one card.
type record struct {
	card Card
	// here says that the newest snapshot has it.
	here bool
	// reset is why it waits for a reset, restart why for the machine's.
	reset, restart string
	// bad says that it was out at the last look, lastly why, without what to do.
	bad    bool
	lastly string
	falls  []time.Time
	until  time.Time // it is watched until then
	slowed time.Time // since when it is
	joins  time.Time // since when it joins its fabric
	links  int       // the most that worked at once
	notes  []note
}

// note is something that takes no card out.
type note struct {
	text string
	at   time.Time
}

// key names a card for good: its number moves.
func (c *Card) key() string {
	if c.UUID != "" {
		return c.UUID
	}
	return "pci:" + c.PCI
}

// See takes in the cards of a new snapshot. Those that it lacks are lost.
func (h *Health) See(now time.Time, cards []Card) {
	if h.cards == nil {
		h.cards = map[string]*record{}
	}
	seen := map[*record]bool{}
	for i := range cards {
		c := cards[i]
		r := h.find(c.UUID, c.PCI)
		if r == nil {
			r = &record{here: true}
			h.cards[c.key()] = r
		}
		r.saw(now, c)
		seen[r] = true
	}
	for _, r := range h.cards {
		r.here = seen[r]
	}
	early := h.early
	h.early = nil
	for _, e := range early {
		h.Hear(now, e)
	}
	for _, r := range h.cards {
		r.judge(now)
	}
}

// find is the record of a card, by either of its names.
func (h *Health) find(uuid, pci string) *record {
	for _, r := range h.cards {
		if uuid != "" && r.card.UUID == uuid || uuid == "" && pci != "" && r.card.PCI == pci || r.card.UUID == "" && pci != "" && r.card.PCI == pci {
			return r
		}
	}
	return nil
}

// saw compares a card with what it was, and finds resets.
func (r *record) saw(now time.Time, c Card) {
	if c.Lost != "" {
		// The driver gives its name at best: what it was is still true.
		r.card.Lost, r.card.Index, r.here = c.Lost, c.Index, true
		if r.card.PCI == "" {
			r.card.UUID, r.card.PCI, r.card.Name = c.UUID, c.PCI, c.Name
		}
		return
	}
	was := r.card.State
	back := !r.here || r.card.Lost != ""
	done := was.Recovery != nil && *was.Recovery != 0 && c.State.Recovery != nil && *c.State.Recovery == 0
	anew := was.Energy != nil && c.State.Energy != nil && *c.State.Energy < *was.Energy
	if back || done || anew {
		r.reset, r.restart = "", ""
	}
	r.card, r.here = c, true
	since(&r.slowed, now, c.State.Slowed != nil && *c.State.Slowed&slowedBits != 0)
	since(&r.joins, now, c.Fabric != nil && (c.Fabric.State == fabricInProgress || c.Fabric.State == fabricNotStarted))
	if c.LinksUp != nil {
		r.links = max(r.links, *c.LinksUp)
	}
}

// since notes when something began that still is.
func since(at *time.Time, now time.Time, is bool) {
	switch {
	case !is:
		*at = time.Time{}
	case at.IsZero():
		*at = now
	}
}

// Hear takes in a message.
func (h *Health) Hear(now time.Time, e Event) {
	r := h.find(e.UUID, e.PCI)
	if r == nil {
		if len(h.early) < mostEarly {
			h.early = append(h.early, e)
		}
		return
	}
	r.heard(now, e)
	r.judge(now)
}

func (r *record) heard(now time.Time, e Event) {
	what, text := meaning(e)
	if what != ignored && what != told && e.Old && r.card.State.Recovery != nil && *r.card.State.Recovery == 0 {
		return // the card knows what was done since
	}
	switch what {
	case ignored:
	case told:
		r.notes = slices.DeleteFunc(r.notes, func(n note) bool { return n.text == text })
		r.notes = append(r.notes, note{text, now})
	case wantsReset:
		r.reset = text
	case wantsRestart:
		r.restart = text
	}
}

// judge notes falls, and the beginning of a watch.
func (r *record) judge(now time.Time) {
	r.notes = slices.DeleteFunc(r.notes, func(n note) bool { return now.Sub(n.at) >= noted })
	r.falls = slices.DeleteFunc(r.falls, func(at time.Time) bool { return now.Sub(at) >= fallSpan })
	why, _ := r.trouble(now)
	switch {
	case why != "" && !r.bad:
		r.falls = append(r.falls, now)
	case why == "" && r.bad:
		r.until = now.Add(watch)
	}
	if r.bad = why != ""; r.bad {
		r.lastly = why
	}
}

// What is to be done about a card, as a sentence.
const (
	resetIt    = "Reset it."
	exchangeIt = "Have the card exchanged."
	restart    = "Restart the machine."
	lookAtIt   = "Restart the machine; when that does not help, look at the card's seat and power."
	manager    = "Look whether the fabric manager runs."
)

// trouble is what is wrong with a card now, and what to do about it, in
// sentences. Both empty: nothing is wrong.
func (r *record) trouble(now time.Time) (what, do string) {
	var whats, dos []string
	say := func(bad bool, what, do string) {
		if bad {
			whats = append(whats, what)
		}
		if bad && do != "" && !slices.Contains(dos, do) {
			dos = append(dos, do)
		}
	}
	s, f := &r.card.State, r.card.Fabric
	say(r.restart != "", r.restart, restart)
	switch {
	case r.card.Lost != "":
		say(true, "The driver does not reach it ("+r.card.Lost+").", lookAtIt)
	case !r.here:
		say(true, "It fell off the bus: the driver does not list it any more.", lookAtIt)
	default:
		say(s.Recovery != nil && *s.Recovery != 0, recovery(s.Recovery), "")
		say(r.reset != "", r.reset, resetIt)
		say(s.Uncorrected != nil && *s.Uncorrected > 0, "Its memory had errors that could not be corrected.", resetIt)
		say(isTrue(s.RemapFailed), "A bad row of its memory cannot be replaced any more.", exchangeIt)
		say(isTrue(s.RemapPending), "A bad row of its memory waits to be replaced.", resetIt)
		say(isTrue(s.RetirePending), "Bad pages of its memory wait to be retired.", resetIt)
		say(isTrue(s.SRAMWorn), "Its caches had more errors than the maker allows.", exchangeIt)
		long := !r.joins.IsZero() && now.Sub(r.joins) >= joining
		say(long && f.State == fabricInProgress, "It has been joining its GPU fabric for more than five minutes.", manager)
		p := f.problem()
		say(p != "", p, "Look at the fabric manager.")
	}
	return strings.Join(whats, " "), strings.Join(dos, " ")
}

func isTrue(b *bool) bool { return b != nil && *b }

// Problem is why a card must not be given out, as sentences. Empty: it may.
func (h *Health) Problem(now time.Time, key string) string {
	r := h.cards[key]
	if r == nil {
		return ""
	}
	what, do := r.trouble(now)
	many := len(r.falls) >= falls
	switch {
	case what != "" && many:
		return fmt.Sprintf("%s It failed %d times within a day. %s", what, len(r.falls), do)
	case what != "":
		return strings.TrimSpace(what + " " + do)
	case many:
		return fmt.Sprintf("It failed %d times within a day, and stays out until %s when nothing more happens. At last: %s",
			len(r.falls), clock(r.falls[len(r.falls)-falls].Add(fallSpan)), r.lastly)
	case now.Before(r.until):
		return fmt.Sprintf("It works again, and is watched until %s. Before: %s", clock(r.until), r.lastly)
	}
	return ""
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// Known are the cards that were ever seen, here or not, as they last were.
func (h *Health) Known() []Card {
	var out []Card
	for _, r := range h.cards {
		out = append(out, r.card)
	}
	slices.SortFunc(out, func(a, b Card) int { return strings.Compare(a.PCI+a.UUID, b.PCI+b.UUID) })
	return out
}
