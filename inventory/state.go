package inventory

// Wish is what people want of a node. It survives silence: a cordoned node
// that returns is cordoned still.
type Wish string

// The wishes there are. The zero value is WishReady.
const (
	// WishReady lets the node take replicas.
	WishReady Wish = ""
	// WishCordoned keeps new replicas away and leaves what runs alone.
	WishCordoned Wish = "cordoned"
	// WishDraining keeps new replicas away and moves what runs elsewhere.
	WishDraining Wish = "draining"
)

// Valid reports whether w is one of the wishes above.
func (w Wish) Valid() bool {
	return w == WishReady || w == WishCordoned || w == WishDraining
}

// Hearing is what is heard of a node, apart from what people want of it.
type Hearing string

// The hearings there are, in the order in which silence grows.
const (
	// Heard means that a beat came within the last 15 seconds.
	Heard Hearing = "heard"
	// Unreachable means silence of 15 seconds: nothing new is placed there,
	// and routers go on by their own checks.
	Unreachable Hearing = "unreachable"
	// Lost means silence of 60 seconds: what ran there is replaced.
	Lost Hearing = "lost"
)

// NodeState is the one word that is shown for a node.
type NodeState string

// The states a node is shown in.
const (
	StateReady       NodeState = "ready"
	StateCordoned    NodeState = "cordoned"
	StateDraining    NodeState = "draining"
	StateUnreachable NodeState = "unreachable"
	StateLost        NodeState = "lost"
)

// NodeStates lists every state, in the order in which summaries show them.
var NodeStates = []NodeState{StateReady, StateCordoned, StateDraining, StateUnreachable, StateLost}

// Shown folds what people want and what is heard into one word: lost, else
// unreachable, else draining, else cordoned, else ready.
func Shown(w Wish, h Hearing) NodeState {
	switch {
	case h == Lost:
		return StateLost
	case h == Unreachable:
		return StateUnreachable
	case w == WishDraining:
		return StateDraining
	case w == WishCordoned:
		return StateCordoned
	}
	return StateReady
}

// WishOf turns the word a person uses ("ready", "cordoned", "draining") into a
// Wish; ok is false for any other word.
func WishOf(state NodeState) (w Wish, ok bool) {
	switch state {
	case StateReady:
		return WishReady, true
	case StateCordoned:
		return WishCordoned, true
	case StateDraining:
		return WishDraining, true
	}
	return "", false
}
