// Package pcipath says how near two devices of the PCI bus are to each other, by
// where sysfs has them: the words are those that people know from
// nvidia-smi topo -m.
//
// It reads links and small files below a root that the caller names, and asks no
// driver. It is no judge: where a virtual machine shows a flat bus, or a firmware
// says no memory node, the answer is that nobody knows, and nothing should be
// refused on it. An adapter whose data path is a second function beside the card
// (ConnectX-8 on GB300) looks further away than it is.
//
// agent/discovery calls it. All functions may be called at once.
//
// Start reading at rank.go.
package pcipath
