// Command custom-scorer gives the scheduler a rule and a taste of one's own: no
// batch model on machines that are rented by the hour, and cheap power before
// dear power, weighed against what the scheduler itself loses on a node.
//
// It is an example of the fields Filters and Scorers of placement.Placer. Start
// reading at power.go.
package main
