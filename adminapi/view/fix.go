package view

import "llmgw.io/llmgw/placement/reconciler"

// Fix is the smallest change that makes room.
type Fix struct {
	Text   string    `json:"text"`
	Steps  []FixStep `json:"steps"`
	Places []string  `json:"places" doc:"the nodes that the replica goes to then, in order of rank"`
	Stops  []string  `json:"stops,omitempty" doc:"the replicas that have to stop for it"`
}

// FixStep is one thing to do.
type FixStep struct {
	Do     string `json:"do" doc:"uncordon, release, allow, retry, install, collect, label, spread, reserve, stop, reach, clock, imex, clear or repair"`
	Object string `json:"object" doc:"the node, domain, replica, profile or model that it is done to"`
	Detail string `json:"detail"`
}

// fixOf is what would help; why says why nothing does.
func fixOf(h reconciler.Help) (f *Fix, why string) {
	if len(h.Fix.Steps) == 0 {
		return nil, h.Why
	}
	f = &Fix{Text: h.Fix.Text, Steps: []FixStep{}, Places: []string{}, Stops: h.Fix.Stops}
	for _, s := range h.Fix.Steps {
		f.Steps = append(f.Steps, FixStep{Do: string(s.Do), Object: s.Object, Detail: s.Text + ": " + s.Detail})
	}
	for _, n := range h.Fix.Places {
		f.Places = append(f.Places, string(n))
	}
	return f, ""
}
