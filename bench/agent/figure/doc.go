// Package figure is what the programs below bench/agent share: a figure beside
// its goal, files of figures, and what Linux says of a process. It measures
// nothing by itself, and holds no state: everything may be called at once.
//
// Start reading at figure.go, then process.go.
package figure
