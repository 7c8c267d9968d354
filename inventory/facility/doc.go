// Package facility reports on the building: which places there are, what stands
// in them, what one of them would take along, and what labels say that cannot be.
//
// It is a report and nothing more: it reads the nodes of a snapshot and decides
// nothing. Whether a node is held is a fact on the node, in package inventory;
// where things are placed is the business of placement.
//
// The admin API's views call it. Every function is pure and safe to call at once.
//
// Start reading at report.go, then facility.go.
package facility
