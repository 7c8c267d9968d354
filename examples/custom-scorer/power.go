package main

import (
	"strconv"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// deviceHour is what an hour of one device is worth beside its power, in cents.
// It turns a price into the unit of the score, device-seconds.
const deviceHour = 200.0

// lifetime is how long a replica is expected to stay, in hours.
const lifetime = 24.0

// cheapPower loses, for every cent that an hour of a device's power costs, the
// seconds that so many cents of a device are worth. A node that does not say its
// price is taken to have an average one.
func cheapPower(n *inventory.Node, _ *catalog.Model, p *catalog.Profile) float64 {
	cents, err := strconv.ParseFloat(n.Label("power-cents"), 64)
	if err != nil {
		cents = 10
	}
	devices := 0
	if p.GPU != nil {
		devices = p.GPU.Count
	}
	return -cents / deviceHour * lifetime * 3600 * float64(devices)
}

// notRented keeps batch models off machines that cost by the hour.
func notRented(n *inventory.Node, m *catalog.Model, _ *catalog.Profile) string {
	if n.Label("rented") == "yes" && m.Class == catalog.ClassBatch {
		return "is rented by the hour, which a batch model is not worth"
	}
	return ""
}

// placer is the default scheduler with both.
func placer() placement.Placer {
	return placement.Placer{
		Filters: []placement.Filter{{Name: "not-rented", Refuse: notRented}},
		Scorers: []placement.Scorer{{Name: "power", Score: cheapPower}},
	}
}
