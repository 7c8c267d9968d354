package fabrics

import (
	"fmt"
	"strings"
)

// noFabric stands for the fabric of a port that is on none.
const noFabric = "none"

// mostNamed is how many things a sentence names.
const mostNamed = 3

// few names some of a list, and says how many more there are.
func few(list []string, between string) string {
	if more := len(list) - mostNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:mostNamed], between), more)
	}
	return strings.Join(list, between)
}

// portList is what is said of one port, or the ports and what they do.
func portList(links []*link, one func(*link) string, several string) string {
	if len(links) == 1 {
		return one(links[0])
	}
	var names []string
	for _, l := range links {
		names = append(names, l.id.String())
	}
	return few(names, ", ") + " " + several
}

// String is the node and the adapter, with the port where it is not the first.
func (p Port) String() string {
	if p.Port > 1 {
		return fmt.Sprintf("%s %s/%d", p.Node, p.HCA, p.Port)
	}
	return fmt.Sprintf("%s %s", p.Node, p.HCA)
}
