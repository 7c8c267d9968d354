package main

import (
	"fmt"
	"io"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/placement"
)

// show writes where the model goes, and what was said of every node.
func show(w io.Writer, m catalog.Model, d placement.Decision, trace placement.Trace) {
	if d.Placed {
		spot := d.Candidate.Spots[0]
		fmt.Fprintf(w, "%s, profile %s: node %s, devices", m.Name, d.Candidate.Profile, spot.Node)
		for _, s := range spot.Devices {
			fmt.Fprintf(w, " %d", s.Index)
		}
		fmt.Fprintln(w)
	} else {
		fmt.Fprintf(w, "%s: there is no room\n", m.Name)
	}
	for _, p := range trace.Profiles {
		fmt.Fprintf(w, "\nprofile %s: %s\n", p.Profile, p)
		for _, l := range p.Lines {
			fmt.Fprintf(w, "  %-4s %s\n       %s: %s\n", l.Node, l.Text, l.Reason, l.Reason.Advice())
		}
		for i, s := range p.Best { // scores are in s.Total, with their parts
			fmt.Fprintf(w, "  %-4s ranks %d\n", s.Node, i+1)
		}
	}
}
