// Package discovery finds what a machine is and what it measures: system,
// processors, memory, disks, sensors, ports for fabrics, weights, engines and
// labels.
//
// It judges nothing and places nothing, and it changes nothing on the machine.
// Facts and measurements are apart, as in [inventory]: Facts change seldom, a
// Sample is of one moment.
//
// Each fact is found alone. One that cannot be found is left out, and a warning
// says why; absent is never zero. Where the kernel's files are is a parameter,
// so an agent in a container reads the host's, and tests read their own.
//
// The agent calls a [Prober] through the interface that it declares, one call at
// a time; its command probe shows the same to people.
//
// Start reading at prober.go; each other file is one fact.
package discovery
