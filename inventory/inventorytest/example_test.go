package inventorytest_test

import (
	"fmt"

	"llmgw.io/llmgw/inventory/inventorytest"
)

func ExampleParse() {
	fleet, err := inventorytest.Parse(`
		a1  gpu=8xH100-80  mem=2048  rack=r1
		a2  gpu=8xH100-80  mem=2048  rack=r2  cordoned
	`)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, n := range fleet.Nodes() {
		fmt.Println(n.ID, n.State(), len(n.Facts.Devices), "devices")
	}
	// Output:
	// a1 ready 8 devices
	// a2 cordoned 8 devices
}

func ExampleFormat() {
	fleet, err := inventorytest.Parse("b  mem=512M\na  rack=r1 gpu=2xL4-24 unhealthy=1")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(inventorytest.Format(fleet))
	// Output:
	// a  gpu=2xL4-24  unhealthy=1  rack=r1
	// b  mem=512M
}
