// Package gguf reads the header of a GGUF file and says whether what follows can
// be what the header promises: magic and version, the few keys that decide where
// a file belongs, and the directory of tensors against the file's size.
//
// Files come from strangers, so every count and length is bounded before it is
// believed, nothing is read that the bounds do not allow, and no byte of weights
// is read at all. It is no loader: it understands no architecture, and a file
// that passes may still be refused by an engine.
//
// Agents call it before an engine is started, and the control plane over ranges
// of a file that is elsewhere. Functions may be called at once.
//
// Start reading at header.go.
package gguf
