// Package probecmd is the agent's command probe: it prints what this machine is and
// measures, as the agent would report it, for people and as JSON. It needs no
// control plane and no rights: what cannot be read is said, with its cause. It is
// called by the agent's main and by nothing else.
//
// Start reading at probecmd.go; how it looks is agent/discovery/page.
package probecmd
