package gpu

import (
	"fmt"
	"time"

	"llmgw.io/llmgw/inventory"
)

// recoveries are what the driver wants done, by its number.
var recoveries = map[int]string{
	1: "The driver wants it reset.",
	2: "The driver wants the machine restarted.",
	3: "The driver wants all traffic between it and other cards ended.",
	4: "The driver wants its work ended, and it reset.",
	5: "The driver wants the domain of memory across machines (IMEX) made anew.",
	6: "The driver wants its bus reset.",
	7: "The driver wants the machine restarted from power.",
}

func recovery(action *int) string {
	if action == nil || *action == 0 {
		return ""
	}
	if text, ok := recoveries[*action]; ok {
		return text
	}
	return fmt.Sprintf("The driver wants something done that this version does not know (action %d). Ask nvidia-smi -q about it.", *action)
}

// effect is what a message means for a card.
type effect int

// The effects there are.
const (
	// ignored are applications' own faults, and what another message tells.
	ignored effect = iota
	// told takes nothing out: somebody may want to know.
	told
	wantsReset
	wantsRestart
)

// xids are the driver's numbers and what they mean: NVIDIA's catalogue. A number
// that does not stand here is told.
var xids = map[int]struct {
	effect effect
	text   string
}{
	13:  {ignored, "an engine's fault"},
	31:  {ignored, "an engine's fault in memory"},
	43:  {ignored, "an engine was stopped"},
	45:  {ignored, "cleaned up after another"},
	46:  {wantsReset, "it stopped working"},
	48:  {wantsReset, "two bits of its memory were wrong at once"},
	62:  {wantsReset, "its own controller stopped"},
	63:  {ignored, "a row of memory is to be replaced"}, // the card says so itself
	64:  {wantsReset, "a row of memory could not be replaced"},
	68:  {ignored, "a video decoder's fault"},
	74:  {wantsReset, "an NVLink failed"},
	79:  {wantsRestart, "it fell off the bus"},
	92:  {ignored, "many errors that were corrected"},
	94:  {ignored, "an error that stayed in one engine"},
	95:  {wantsReset, "an error of memory that reached beyond one engine"},
	109: {told, "an engine could not be switched away from"},
	110: {wantsReset, "a fault of its security"},
	119: {wantsReset, "its controller did not answer"},
	120: {wantsReset, "its controller failed"},
	121: {ignored, "an error to the processor that was corrected"},
	136: {wantsReset, "its links were not made"},
	137: {ignored, "an engine's fault over NVLink"},
	140: {wantsReset, "an error of memory that was not corrected"},
	143: {wantsReset, "it could not be made ready"},
	144: {wantsReset, "an NVLink failed"}, 145: {wantsReset, "an NVLink failed"}, 146: {wantsReset, "an NVLink failed"},
	147: {wantsReset, "an NVLink failed"}, 148: {wantsReset, "an NVLink failed"}, 149: {wantsReset, "an NVLink failed"},
	150: {wantsReset, "an NVLink failed"},
	151: {wantsRestart, "its keys could not be changed"},
	154: {ignored, "the driver wants something else done"}, // the card says so itself
	155: {wantsReset, "it could not be made ready"},
	156: {wantsReset, "it has too little of something"},
	158: {wantsReset, "it waited too long"},
}

// meaning is what a message means, and its sentence.
func meaning(e Event) (effect, string) {
	if e.OffBus {
		return wantsRestart, "The driver said that it fell off the bus."
	}
	x, ok := xids[e.XID]
	if !ok {
		return told, fmt.Sprintf("the driver reported XID %d of it", e.XID)
	}
	switch x.effect {
	case told:
		return told, fmt.Sprintf("the driver reported XID %d of it: %s", e.XID, x.text)
	case wantsReset:
		return wantsReset, fmt.Sprintf("The driver reported XID %d: %s.", e.XID, x.text)
	case wantsRestart:
		return wantsRestart, fmt.Sprintf("The driver reported XID %d: %s.", e.XID, x.text)
	}
	return ignored, ""
}

// slowedBits are the reasons for a lower clock that somebody should mend: heat
// and power, by the card's own brake. A power limit is normal under load.
const slowedBits = 0x40 | 0x80

// Warnings are what makes a card slow and not unusable, each a sentence's end.
// best is the most NVLinks that any card like it has; zero: nobody knows.
func (h *Health) Warnings(now time.Time, key string, best int) []string {
	r := h.cards[key]
	if r == nil || !r.here || r.card.Lost != "" {
		return nil
	}
	var out []string
	s := &r.card.State
	if s.Width != nil && s.MaxWidth != nil && *s.Width > 0 && *s.Width < *s.MaxWidth {
		out = append(out, fmt.Sprintf("its link to the bus has %d of %d lanes", *s.Width, *s.MaxWidth))
	}
	if !r.slowed.IsZero() && now.Sub(r.slowed) >= slowedFor {
		out = append(out, "it slows itself down for heat or power; look at its cooling and its supply")
	}
	if most := max(best, r.links); r.card.LinksUp != nil && *r.card.LinksUp < most {
		out = append(out, fmt.Sprintf("%d of %d NVLinks work", *r.card.LinksUp, most))
	}
	if f := r.card.Fabric; f != nil && f.State == fabricNotStarted && !r.joins.IsZero() && now.Sub(r.joins) >= joining {
		out = append(out, "it has not begun to join its GPU fabric; look whether the fabric manager runs")
	}
	if r.card.Fabric.bandwidth() == inventory.BandwidthDegraded {
		out = append(out, "its GPU fabric has less bandwidth than it should")
	}
	for _, n := range r.notes {
		out = append(out, n.text)
	}
	return out
}
