package openai

// member is where a top-level member stands. Commas are kept so that it can be taken out; 0 means there is none, since
// no comma can stand at the first byte.
type member struct {
	key, value, end int
	before, after   int
	ordinal         int
}

// place is a member as requests keep it: there are many of both.
type place struct {
	key, value, end, before, after, ordinal int32
	field                                   Field
}

// places are those of the known members, in the order of the body. Few bodies have more than a few, and who asked for a
// stream is held for as long as it lasts.
type places struct {
	few  [fewPlaces]place
	n    int // of few
	more []place
}

const fewPlaces = 8

func (ps *places) put(f Field, m member) {
	p := place{int32(m.key), int32(m.value), int32(m.end), int32(m.before), int32(m.after), int32(m.ordinal), f}
	if ps.n < fewPlaces {
		ps.few[ps.n] = p
		ps.n++
		return
	}
	ps.more = append(ps.more, p)
}

// of is the place of a member that the body has, and the zero place of one that it has not.
func (ps *places) of(f Field) place {
	for i := range ps.few[:ps.n] {
		if ps.few[i].field == f {
			return ps.few[i]
		}
	}
	for i := range ps.more {
		if ps.more[i].field == f {
			return ps.more[i]
		}
	}
	return place{}
}

func (r *Request) member(f Field) member {
	p := r.places.of(f)
	return member{
		key: int(p.key), value: int(p.value), end: int(p.end), before: int(p.before), after: int(p.after), ordinal: int(p.ordinal),
	}
}
