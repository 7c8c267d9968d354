package topology

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Errors of Parse.
var (
	// ErrEmpty says that there is no text: the tool found nothing, and said no error.
	ErrEmpty = errors.New("topology: the map is empty")
	// ErrNoMap says that the text is something else.
	ErrNoMap = errors.New("topology: the text is no map of a fabric")
)

// Kinds of nodes, as their GUIDs are prefixed.
const (
	kindSwitch = 'S'
	kindHost   = 'H'
	kindRouter = 'R'
)

// node is one of the fabric while the text is read.
type node struct {
	kind   byte
	guid   string
	name   string
	board  string
	ports  int
	lid    int
	listed bool
}

type linkKey struct {
	a, b         string
	aPort, bPort int
}

// reader is the state between lines.
type reader struct {
	m     Map
	nodes map[string]*node
	links map[linkKey]*Link
	// at is the node whose ports are being listed. Nil: none is.
	at *node
	// board and begun are of a node that is announced and not named yet.
	board string
	begun bool
}

// Parse reads a map. Lines that are not understood are counted and left out; text
// in which there is no node at all is an error that matches ErrEmpty or ErrNoMap.
func Parse(text string) (Map, error) {
	r := reader{nodes: map[string]*node{}, links: map[linkKey]*Link{}}
	n := 0
	for line := range strings.Lines(text) {
		n++
		whole := strings.TrimRight(line, " \t\r\n")
		if !strings.HasSuffix(line, "\n") {
			// The tool ends each line; one without an end may lack anything.
			r.m.Truncated = true
			break
		}
		if whole != "" && !r.line(whole) {
			if r.m.Unknown++; r.m.Unknown == 1 {
				r.m.FirstUnknown = n
			}
		}
	}
	r.m.Truncated = r.m.Truncated || r.begun
	switch {
	case strings.TrimSpace(text) == "":
		return Map{}, ErrEmpty
	case len(r.nodes) == 0:
		return Map{}, fmt.Errorf("%w: none of its %d lines names a node", ErrNoMap, n)
	}
	return r.result(), nil
}

// line takes one that is not empty, and reports whether it was understood.
func (r *reader) line(s string) bool {
	switch {
	case s[0] == '#':
		r.comment(s)
		return true
	case s[0] == '[':
		return r.port(s)
	case strings.HasPrefix(s, "Switch"):
		return r.switchLine(s)
	case strings.HasPrefix(s, "Ca"), strings.HasPrefix(s, "Rt"):
		return r.hostLine(s)
	case strings.HasPrefix(s, "Chassis "), strings.HasPrefix(s, "Non-Chassis Nodes"):
		return true // headings of the grouped form
	}
	return r.value(s)
}

func (r *reader) comment(s string) {
	t := text{rest: s[1:]}
	t.space()
	if t.word("Initiated from node ") {
		if g := t.guid(); !t.bad {
			r.m.From = g
		}
	}
}

// value takes what is said of a node before its name. The first of them begins
// another node.
func (r *reader) value(s string) bool {
	key, val, ok := strings.Cut(s, "=0x")
	if !ok {
		return false
	}
	t := text{rest: val}
	g := t.guid()
	switch key {
	case "vendid", "devid":
		r.at = nil
	case "sysimgguid":
		r.at, r.board = nil, g
	case "switchguid", "caguid", "rtguid":
		r.at = nil
	default:
		return false
	}
	r.begun = true
	return !t.bad
}

func (r *reader) switchLine(s string) bool {
	t := text{rest: s}
	t.want("Switch")
	t.space()
	ports := t.number()
	t.space()
	kind, guid := t.node()
	t.space()
	t.want("#")
	t.space()
	name := t.named(" enhanced port 0 ", " base port 0 ")
	t.space()
	_ = t.word("enhanced") || t.word("base")
	t.want(" port 0 lid ")
	lid := t.number()
	if t.bad || kind != kindSwitch {
		r.at, r.board, r.begun = nil, "", false
		return false
	}
	r.begin(kind, guid, name, ports).lid = lid
	return true
}

func (r *reader) hostLine(s string) bool {
	t := text{rest: s[len("Ca"):]}
	t.space()
	ports := t.number()
	t.space()
	kind, guid := t.node()
	t.space()
	t.want("#")
	t.space()
	name := t.named("")
	if t.bad || kind == kindSwitch {
		r.at, r.board, r.begun = nil, "", false
		return false
	}
	r.begin(kind, guid, name, ports)
	return true
}

// begin makes a node the one whose ports come next.
func (r *reader) begin(kind byte, guid, name string, ports int) *node {
	n := r.node(kind, guid, name)
	n.kind, n.listed, n.ports, n.board = kind, true, ports, r.board
	if name != "" {
		n.name = name
	}
	r.at, r.board, r.begun = n, "", false
	return n
}

// node finds a node, or notes what a neighbour says of it.
func (r *reader) node(kind byte, guid, name string) *node {
	n := r.nodes[guid]
	if n == nil {
		n = &node{kind: kind, guid: guid, name: name}
		r.nodes[guid] = n
	}
	return n
}

// port takes a line about a port that is connected. Those of switches and of
// adapters are of different forms.
func (r *reader) port(s string) bool {
	if r.at == nil {
		return false
	}
	t := text{rest: s}
	near := End{GUID: r.at.guid, Port: t.port(), PortGUID: t.portGUID()}
	t.space()
	kind, guid := t.node()
	far := End{GUID: guid, Port: t.port()}
	t.space()
	far.PortGUID = t.portGUID()
	t.space()
	t.want("#")
	t.space()
	if r.at.kind == kindSwitch {
		near.LID = r.at.lid
	} else {
		t.want("lid ")
		near.LID = t.number()
		t.want(" lmc ")
		t.number()
		t.space()
	}
	name := t.named(" lid ")
	t.want(" lid ")
	far.LID = t.number()
	t.space()
	link := Link{A: near, B: far, OneSided: true}
	link.Width, link.Speed, link.Gbps = t.rate()
	if t.bad {
		return false
	}
	n := r.node(kind, guid, name)
	if n.kind == kindSwitch && n.lid == 0 {
		n.lid = far.LID
	}
	r.link(link)
	return true
}

// link notes a link. Each is told of twice, once from either end.
func (r *reader) link(l Link) {
	if c := cmp.Or(cmp.Compare(l.A.GUID, l.B.GUID), cmp.Compare(l.A.Port, l.B.Port)); c > 0 {
		l.A, l.B = l.B, l.A
	}
	key := linkKey{a: l.A.GUID, b: l.B.GUID, aPort: l.A.Port, bPort: l.B.Port}
	was := r.links[key]
	if was == nil {
		r.links[key] = &l
		return
	}
	was.OneSided = false
	was.A.fill(l.A)
	was.B.fill(l.B)
	if was.Gbps == 0 { // what one end cannot name the other may
		was.Width, was.Speed, was.Gbps = l.Width, l.Speed, l.Gbps
	}
}

// fill takes what another line says besides.
func (e *End) fill(o End) {
	e.PortGUID, e.LID = cmp.Or(e.PortGUID, o.PortGUID), cmp.Or(e.LID, o.LID)
}

// aggregates reports whether a node is a switch's own adapter.
func (n *node) aggregates() bool {
	return n.kind != kindSwitch && strings.HasSuffix(n.name, "Aggregation Node")
}

func (r *reader) result() Map {
	m := r.m
	m.Switches, m.Hosts, m.Links = []Switch{}, []Host{}, []Link{}
	for _, n := range r.nodes {
		switch {
		case n.aggregates():
			m.Aggregators++
		case n.kind == kindSwitch:
			m.Switches = append(m.Switches, Switch{GUID: n.guid, Name: n.name, Ports: n.ports, LID: n.lid, Silent: !n.listed})
		default:
			m.Hosts = append(m.Hosts, Host{
				GUID: n.guid, Name: n.name, Board: n.board, Ports: n.ports, Router: n.kind == kindRouter, Silent: !n.listed,
			})
		}
	}
	for _, l := range r.links {
		if !r.nodes[l.A.GUID].aggregates() && !r.nodes[l.B.GUID].aggregates() {
			m.Links = append(m.Links, *l)
		}
	}
	slices.SortFunc(m.Switches, func(a, b Switch) int { return cmp.Compare(a.GUID, b.GUID) })
	slices.SortFunc(m.Hosts, func(a, b Host) int { return cmp.Compare(a.GUID, b.GUID) })
	slices.SortFunc(m.Links, func(a, b Link) int { return cmp.Or(a.A.compare(b.A), a.B.compare(b.B)) })
	return m
}

func (e End) compare(o End) int {
	return cmp.Or(cmp.Compare(e.GUID, o.GUID), cmp.Compare(e.Port, o.Port))
}
