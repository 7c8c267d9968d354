package catalog

// Class is a capacity class: who gives way when there is not room for all.
type Class string

// The capacity classes, from the one that never gives way.
const (
	ClassCritical Class = "critical"
	ClassStandard Class = "standard"
	ClassBatch    Class = "batch"
)

// Classes lists every class, highest first.
var Classes = []Class{ClassCritical, ClassStandard, ClassBatch}

// OrDefault is the class with the default filled in.
func (c Class) OrDefault() Class {
	if c == "" {
		return ClassStandard
	}
	return c
}

// Valid reports whether c is a class, or empty.
func (c Class) Valid() bool { return c == "" || c.Rank() >= 0 }

// Rank orders classes: higher gives way to none below it. -1: no such class.
func (c Class) Rank() int {
	switch c.OrDefault() {
	case ClassCritical:
		return 2
	case ClassStandard:
		return 1
	case ClassBatch:
		return 0
	}
	return -1
}
