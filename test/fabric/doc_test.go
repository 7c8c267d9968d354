// Package fabric tries what reads InfiniBand fabrics against real ones that are
// simulated: ibsim stands for switches and adapters, opensm manages them, and
// ibnetdiscover, sminfo, saquery and smpquery are those of any machine. Only what
// the kernel's files say of a port is made up.
//
// The tests are part of make check. They need Debian's packages ibsim-utils,
// opensm and infiniband-diags, which "make fabric-tools" installs, and skip
// without them. Together they take some ten seconds.
//
// Start reading at fabric_test.go; rig_test.go starts the programs.
package fabric
