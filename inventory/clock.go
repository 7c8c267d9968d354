package inventory

import "time"

// How far an agent's clock may be off. Certificates, drain limits and the ages
// that people are shown are wrong on such a machine.
const (
	ClockWarnAfter   = 30 * time.Second
	ClockRefuseAfter = 5 * time.Minute
)

// Clock says how far a node's clock can be trusted.
type Clock int

// The verdicts on a clock.
const (
	ClockGood Clock = iota
	// ClockOff is worth a warning and refuses nothing.
	ClockOff
	// ClockWrong means that nothing new is placed on the node.
	ClockWrong
)

// Clock judges the node's clock at its last beat. One that did not say is good.
func (n *Node) Clock() Clock {
	switch off := n.ClockSkew.Abs(); {
	case off > ClockRefuseAfter:
		return ClockWrong
	case off > ClockWarnAfter:
		return ClockOff
	}
	return ClockGood
}
