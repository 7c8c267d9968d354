package gpu

import (
	"fmt"
	"strings"

	"llmgw.io/llmgw/inventory"
)

// Fabric is what a card says of the fabric of GPUs it is part of.
type Fabric struct {
	// State is one of the driver's numbers: 1 not started, 2 in progress, 3
	// completed.
	State int `json:"state"`
	// Status is the driver's error; it means something when completed.
	Status int `json:"status,omitempty"`
	// Cluster is the fabric's UUID, Clique the number of the part of it whose
	// cards reach each other.
	Cluster string `json:"cluster,omitempty"`
	Clique  uint32 `json:"clique"`
	// Health are the driver's bits. Zero: it does not say.
	Health uint32 `json:"health,omitempty"`
}

// The states of a fabric, as the driver numbers them.
const (
	fabricNotStarted = 1
	fabricInProgress = 2
	fabricCompleted  = 3
)

// noCluster is what machines say whose cards are linked among themselves only.
const noCluster = "00000000-0000-0000-0000-000000000000"

// state is the word for it; empty where there is no fabric.
func (f *Fabric) state() string {
	switch {
	case f == nil:
		return ""
	case f.State == fabricNotStarted:
		return inventory.FabricNotStarted
	case f.State == fabricInProgress:
		return inventory.FabricInProgress
	case f.State == fabricCompleted:
		return inventory.FabricCompleted
	}
	return ""
}

// domain names the part of a fabric whose cards reach each other across
// machines. Empty: there is none.
func (f *Fabric) domain() string {
	if f == nil || f.State != fabricCompleted || f.Status != 0 || f.Cluster == "" || f.Cluster == noCluster {
		return ""
	}
	return fmt.Sprintf("%s.%d", f.Cluster, f.Clique)
}

// The driver's health bits: where a field begins and how wide it is. Of a field
// of two bits 1 is yes and 2 is no.
const (
	degradedAt, recoveryAt, unhealthyAt, accessAt, wrongAt = 0, 2, 4, 6, 8

	yes, no = 1, 2
)

func (f *Fabric) bits(at uint) uint32 { return f.Health >> at & 3 }

// bandwidth is "full", "degraded", or empty when the card does not say.
func (f *Fabric) bandwidth() string {
	if f == nil {
		return ""
	}
	switch f.bits(degradedAt) {
	case yes:
		return inventory.BandwidthDegraded
	case no:
		return inventory.BandwidthFull
	}
	return ""
}

// wrongs are what may be configured wrongly, by the driver's number.
var wrongs = map[uint32]string{
	2: "the system's GUID", 3: "the chassis' serial number", 4: "it is in no partition", 5: "too few NVLinks",
	6: "its firmware does not fit", 7: "its place", 8: "its state",
}

// problem is why a card must not be used for its fabric's sake.
func (f *Fabric) problem() string {
	if f == nil || f.State != fabricCompleted {
		return ""
	}
	var all []string
	if f.Status != 0 {
		all = append(all, fmt.Sprintf("the driver's error is %d", f.Status))
	}
	if f.bits(unhealthyAt) == yes {
		all = append(all, "a route is unhealthy")
	}
	if f.bits(accessAt) == yes {
		all = append(all, "it recovers from a timeout")
	}
	if w := f.Health >> wrongAt & 15; w > 1 {
		what := wrongs[w]
		if what == "" {
			what = fmt.Sprintf("the driver's number %d", w)
		}
		all = append(all, "it is configured wrongly: "+what)
	}
	if len(all) == 0 {
		return ""
	}
	return "Its GPU fabric is not healthy: " + strings.Join(all, ", ") + "."
}
