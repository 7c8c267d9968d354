package topology

import "fmt"

// Map is one fabric as it was found on one walk. A node that is missing once is
// not gone: the packets of a walk are dropped under load.
type Map struct {
	// From is the node GUID of the adapter or switch where the walk began. Empty:
	// the text does not say.
	From string `json:"from,omitempty"`
	// Switches, Hosts and Links are ordered by GUID and port.
	Switches []Switch `json:"switches"`
	Hosts    []Host   `json:"hosts"`
	Links    []Link   `json:"links"`
	// Aggregators counts the switches' own adapters that add up data on its way
	// (SHARP). They and their links are left out of the map.
	Aggregators int `json:"aggregators,omitempty"`
	// Truncated says that the text ends in the middle.
	Truncated bool `json:"truncated,omitempty"`
	// Unknown counts lines that are not understood, and FirstUnknown is the number
	// of the first of them. Zero: there are none.
	Unknown      int `json:"unknown,omitempty"`
	FirstUnknown int `json:"first_unknown,omitempty"`
}

// Switch is one switch of a fabric.
type Switch struct {
	// GUID is the node's, 16 lower-case hex digits.
	GUID string `json:"guid"`
	// Name is what people called it. It may be empty, and need not be unique.
	Name string `json:"name,omitempty"`
	// Ports is how many it has, used or not. Zero: unknown.
	Ports int `json:"ports,omitempty"`
	LID   int `json:"lid,omitempty"`
	// Silent says that only its neighbours tell of it: it did not answer itself.
	Silent bool `json:"silent,omitempty"`
}

// Host is one adapter at the edge of a fabric. A machine has as many as it has
// adapters.
type Host struct {
	// GUID is the adapter's node GUID, 16 lower-case hex digits.
	GUID string `json:"guid"`
	// Name is what the machine calls it, often "machine adapter". It may be empty,
	// and need not be unique.
	Name string `json:"name,omitempty"`
	// Board is the GUID that the adapters of one board have in common. Empty:
	// unknown.
	Board string `json:"board,omitempty"`
	Ports int    `json:"ports,omitempty"`
	// Router says that it leads to another fabric.
	Router bool `json:"router,omitempty"`
	Silent bool `json:"silent,omitempty"`
}

// Link is one cable, or one trace inside a chassis.
type Link struct {
	// A is the end with the smaller GUID, or port where both are one node's.
	A End `json:"a"`
	B End `json:"b"`
	// Width is in lanes; zero is unknown. Speed is the name of a lane's ("NDR").
	Width int    `json:"width,omitempty"`
	Speed string `json:"speed,omitempty"`
	// Gbps is the rate of the data. Zero: unknown.
	Gbps int `json:"gbps,omitempty"`
	// OneSided says that only one of the ends tells of it.
	OneSided bool `json:"one_sided,omitempty"`
}

// End is where a link is plugged in.
type End struct {
	GUID string `json:"guid"`
	Port int    `json:"port"`
	// PortGUID is an adapter port's own. Empty: a switch's port, or not said.
	PortGUID string `json:"port_guid,omitempty"`
	LID      int    `json:"lid,omitempty"`
}

// Gap says in a sentence why the map is not the whole fabric. Empty: nothing
// tells that it is not.
func (m *Map) Gap() string {
	switch {
	case m.Truncated:
		return "the text of the map ends in the middle; what came before is shown"
	case m.Unknown == 1:
		return fmt.Sprintf("line %d of the map is not understood and was left out", m.FirstUnknown)
	case m.Unknown > 1:
		return fmt.Sprintf("%d lines of the map are not understood and were left out, the first is line %d", m.Unknown, m.FirstUnknown)
	}
	return ""
}
