package reconciler

import (
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/placement"
)

// Plan is what Step wants done.
type Plan struct {
	Actions []Action
	Events  []Event
	// Health is of every model in the catalog; shared, read only.
	Health map[catalog.Name]ModelHealth
	// Traces has the last attempt to place each model that was tried in this
	// step. A model that is satisfied has none.
	Traces map[catalog.Name]placement.Trace
	// Brake is whether lost replicas are replaced after this step.
	Brake Brake
	// OrdersDone is how many of the world's orders were taken, from the front.
	OrdersDone int
	// WakeAt is when Step wants to look again though nothing changed. Zero:
	// only at a change.
	WakeAt time.Time
}

// ModelHealth is what people are shown of one model.
type ModelHealth struct {
	Desired  int
	Why      Why
	Ready    int
	Total    int
	Failures int
	Parked   bool
	Reason   string
	Cause    string
	// Unplaceable means that it is short and the last attempt found no node.
	Unplaceable bool
	// Coming is for how many of the replicas it is short of room is kept: others
	// are leaving it, or the next start is not due yet.
	Coming int
	// Preempted is how many replicas it is short of because a higher class took
	// their room; HeldFor is the model that took the last one's.
	Preempted int
	HeldFor   catalog.Name
	// RetryAt is when the next start is tried after a failure. Zero: at once.
	RetryAt time.Time
	// Clamps are sentences about why Desired is not what was asked for.
	Clamps []string
}

// Why is what decided how many replicas are desired.
type Why string

// The reasons for a desired number.
const (
	WhyMin       Why = "min"
	WhyDemand    Why = "demand"
	WhySchedule  Why = "schedule"
	WhyPreempted Why = "preempted"
	WhyParked    Why = "parked"
	WhyHeld      Why = "held"
)
