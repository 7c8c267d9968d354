package fix

import (
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// Question is a request that finds no room, with what may be done about it.
type Question struct {
	Request placement.Request
	// Standing are the replicas that people could stop. Those of a higher class
	// than the request's model, and its own, are left alone.
	Standing []placement.Occupant
	// Holds are those in force. One that a node knows of counts without.
	Holds []inventory.Hold
	// Unneeded is how much of a node's disk, in MiB, is weights that no model
	// needs. Nil: nobody knows, and none are proposed to go.
	Unneeded func(n *inventory.Node) int64
}

// Fix is a change that makes room. The zero value is none.
type Fix struct {
	// Text is all steps and what comes of them, as a sentence.
	Text  string
	Steps []Step
	// Profile and Places are where the request goes then, rank 0 first.
	Profile string
	Places  []inventory.NodeID
	// Stops are the replicas among the steps, ordered by id.
	Stops []string
}

// Step is one thing to do.
type Step struct {
	Do Do
	// Object is a node's id, a domain ("rack:r1"), a replica's id, or the name of
	// a profile or a model, as Do says.
	Object string
	// Detail is what stands in the way there, or what to mind.
	Detail string
	// Text says what to do: "uncordon node a2".
	Text string
}

// Do is what a step does. The list is closed.
type Do string

// What can be done, in the order in which equals are preferred: what takes back
// an order of people, what adds something, what asks for less, what takes from
// others, and at last what needs hands at the machine.
const (
	Uncordon Do = "uncordon" // a node that is cordoned or drains
	Release  Do = "release"  // a hold, named by its domain
	Allow    Do = "allow"    // a profile that the request leaves out
	Retry    Do = "retry"    // a model: nodes where it failed of late are taken again
	Install  Do = "install"  // an engine, or another build of it, on a node
	Collect  Do = "collect"  // weights on a node that no model needs
	Label    Do = "label"    // a node, with the profile's pool and labels
	Spread   Do = "spread"   // a profile: more replicas in one domain
	Reserve  Do = "reserve"  // a profile: less memory, cores or disk, by half at most
	Stop     Do = "stop"     // a replica of an equal or a lower class
	Reach    Do = "reach"    // a silent node
	Clock    Do = "clock"    // a node whose clock is wrong
	IMEX     Do = "imex"     // a node whose IMEX service is not ready
	Clear    Do = "clear"    // a node whose devices others use
	Repair   Do = "repair"   // a node whose devices have problems
)

// order is that list.
var order = []Do{Uncordon, Release, Allow, Retry, Install, Collect, Label, Spread, Reserve, Stop, Reach, Clock, IMEX, Clear, Repair}

// Bounds of what is small. A fix has at most as many steps as mostSteps, or as
// the group has shards; of these every node needs at most perNode, beside
// replicas that have to stop there.
const (
	perNode   = 3
	mostSteps = 8
	// leastPart is how far a reservation may be lowered: a model that needs less
	// than half of what its profile says wants another profile.
	leastPart = 2
	// mostRaise is how far a bound on spread may be raised.
	mostRaise = 16
	// mostProofs is how many offers are tried on a copy.
	mostProofs = 8
	// mostTrials bounds the sets of replicas that are tried on single nodes;
	// beyond it they are found greedily.
	mostTrials = 20_000
	// mostWide is how often nodes are asked as they might be when the profile or
	// the request is another, too. The first nodes by id have the turn.
	mostWide = 5_000
)
