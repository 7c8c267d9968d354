// Package heap bounds how much garbage a process keeps that lives long and has
// much in memory. By default Go lets garbage grow to as much as is in use; where
// that is hundreds of MiB which hardly change, most of it serves nobody.
//
// It changes a setting of the whole process, so only commands call it, and
// programs that measure them. A setting that somebody made by GOGC or GOMEMLIMIT
// is left alone. Start reading at heap.go.
package heap
