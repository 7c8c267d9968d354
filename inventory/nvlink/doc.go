// Package nvlink reports on the NVLink domains of several nodes: which there
// are, which of their nodes could take a shard of a group, and what keeps the
// others out.
//
// It is a report and nothing more. Which domain a node is in is a fact on the
// node, [inventory.Node.NVLinkDomain], which placement goes by, too.
//
// The admin API's views call it. Every function is pure and safe to call at once.
//
// Start reading at nvlink.go.
package nvlink
