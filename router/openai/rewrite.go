package openai

import (
	"slices"
	"strconv"
)

// Edits are the changes that Rewrite makes. The zero value changes nothing.
type Edits struct {
	// Model replaces the model's name; empty leaves it.
	Model string
	// Strip takes these members out where they are. Removing FieldMaxTokens where both limits are given makes every
	// engine take the newer one.
	Strip Fields
	// IncludeUsage asks the engine for a usage event at the end of its stream, and for no other usage than the client
	// asked for.
	IncludeUsage bool
	// Adapter asks llama-server for one of its adapters by its place, beginning with 1, since it knows them by number
	// alone. The client's own choice is taken out. Zero leaves it.
	Adapter int
}

// patch replaces body[from:to]. A patch with from == to inserts.
type patch struct {
	from, to int
	text     string
	model    bool // the text is a model's name, to be quoted
	comma    bool // a comma follows the text
}

// patches is room for every patch that a request can need: one for each field, one for a model, one for options and
// one for an adapter that are not there yet (a name takes two).
type patches struct {
	list [fieldCount + 4]patch
	n    int
}

// add keeps the list in the order of the body; equal places keep the order in which they were added.
func (ps *patches) add(p patch) {
	i := ps.n
	for ; i > 0 && ps.list[i-1].from > p.from; i-- {
		ps.list[i] = ps.list[i-1]
	}
	ps.list[i] = p
	ps.n++
}

// Rewrite appends body with the edits made to dst and leaves every other byte as it was. req is what Scan made of this
// very body. dst and body must not overlap.
func Rewrite(dst, body []byte, req *Request, e Edits) []byte {
	var ps patches
	ps.fill(req, e)
	from := 0
	for i := range ps.n {
		p := &ps.list[i]
		dst = p.appendText(append(dst, body[from:p.from]...))
		from = p.to
	}
	return append(dst, body[from:]...)
}

// Pieces appends to dst what Rewrite gives, in pieces: what stays of body is not copied. None of them is empty.
func Pieces(dst [][]byte, body []byte, req *Request, e Edits) [][]byte {
	var ps patches
	ps.fill(req, e)
	dst = slices.Grow(dst, 2*ps.n+1)
	from := 0
	for i := range ps.n {
		p := &ps.list[i]
		dst = appendPiece(appendPiece(dst, body[from:p.from]), p.appendText(nil))
		from = p.to
	}
	return appendPiece(dst, body[from:])
}

// fill makes the patches for the edits.
func (ps *patches) fill(req *Request, e Edits) {
	if e.Model != "" {
		e.Strip &^= 1 << FieldModel
	}
	if e.IncludeUsage {
		e.Strip &^= 1 << FieldStreamOptions
	}
	if e.Adapter > 0 {
		e.Strip |= FieldsOf(FieldLora)
	}
	kept := ps.strip(req, e.Strip)
	if e.Model != "" {
		ps.setModel(req, e.Model, &kept)
	}
	if e.IncludeUsage && !req.IncludeUsage {
		ps.askUsage(req, &kept)
	}
	if e.Adapter > 0 {
		ps.askAdapter(req, e.Adapter, &kept)
	}
}

func appendPiece(dst [][]byte, piece []byte) [][]byte {
	if len(piece) == 0 {
		return dst
	}
	return append(dst, piece)
}

func (p *patch) appendText(dst []byte) []byte {
	if p.model {
		dst = AppendString(dst, p.text)
	} else {
		dst = append(dst, p.text...)
	}
	if p.comma {
		dst = append(dst, ',')
	}
	return dst
}

// strip takes members out with one comma each and gives the number of those that stay. A member behind one that stays
// takes the comma before it along; one at the front, the comma after it.
func (ps *patches) strip(req *Request, strip Fields) (kept int) {
	gone := strip & req.present
	kept = req.members
	front := frontGone(req, gone)
	for f := range fieldCount {
		if !gone.Has(f) {
			continue
		}
		kept--
		switch m := req.member(f); {
		case m.ordinal >= front:
			ps.add(patch{from: m.before, to: m.end})
		case m.after != 0:
			ps.add(patch{from: m.key, to: m.after + 1})
		default:
			ps.add(patch{from: m.key, to: m.end})
		}
	}
	return kept
}

// frontGone counts the members at the front that all go.
func frontGone(req *Request, gone Fields) int {
	front := 0
	for again := true; again; {
		again = false
		for f := range fieldCount {
			if gone.Has(f) && int(req.places.of(f).ordinal) == front {
				front, again = front+1, true
			}
		}
	}
	return front
}

func (ps *patches) setModel(req *Request, name string, kept *int) {
	if m := req.member(FieldModel); req.Has(FieldModel) {
		ps.add(patch{from: m.value, to: m.end, text: name, model: true})
		return
	}
	at := req.open + 1
	ps.addFirst(patch{from: at, to: at, text: name, model: true, comma: *kept > 0})
	ps.addFirst(patch{from: at, to: at, text: `"model":`})
	*kept++
}

func (ps *patches) askUsage(req *Request, kept *int) {
	m := req.member(FieldStreamOptions)
	switch {
	case !req.Has(FieldStreamOptions):
		at := req.open + 1
		ps.addFirst(patch{from: at, to: at, text: `"stream_options":{"include_usage":true}`, comma: *kept > 0})
		*kept++
	case req.options.End == 0 || req.countsAlong:
		// Our wish for usage must not bring that of the client to life, which would change every event.
		ps.add(patch{from: m.value, to: m.end, text: `{"include_usage":true}`})
	case req.usageValue.End != 0:
		ps.add(patch{from: req.usageValue.Start, to: req.usageValue.End, text: "true"})
	default:
		at := req.options.Start + 1
		ps.add(patch{from: at, to: at, text: `"include_usage":true`, comma: !req.optionsEmpty})
	}
}

func (ps *patches) askAdapter(req *Request, place int, kept *int) {
	at := req.open + 1
	text := `"lora":[{"id":` + strconv.Itoa(place-1) + `,"scale":1}]`
	ps.addFirst(patch{from: at, to: at, text: text, comma: *kept > 0})
	*kept++
}

// addFirst adds a patch before all others at its place: an insertion behind the brace must come before the removal of
// the member that stands there.
func (ps *patches) addFirst(p patch) {
	i := ps.n
	for ; i > 0 && ps.list[i-1].from >= p.from; i-- {
		ps.list[i] = ps.list[i-1]
	}
	ps.list[i] = p
	ps.n++
}
