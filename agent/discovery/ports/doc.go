// Package ports reads a machine's ports for fabrics, InfiniBand and RoCE: what
// they are, what they count, who manages their fabric, and its map; and whether
// memory can be shared over NVLink between machines (IMEX).
//
// It judges nothing: whether a fabric is whole is said over all nodes, by the
// control plane. It changes nothing on the machine, and never takes a name of an
// adapter apart.
//
// Ports and counters are read from the kernel's files, each file alone: one that
// is missing or garbled takes no other fact with it. Who manages a fabric is told
// by no file but by packets, so that is asked by the tools of the package
// infiniband-diags, seldom, bounded, and one port for all of its fabric.
//
// Package discovery calls a [Reader]: Ports, Counters and IMEX one at a time.
// CanScan and Scan may be called at any time.
//
// Start reading at reader.go, then sysfs.go; managers.go asks who manages.
package ports
