// Package safetensors says whether a safetensors file is whole, and which files
// an index names.
//
// Files come from strangers, so the header is bounded before it is read, and no
// byte of weights is read at all. It is no loader.
//
// Agents call it before an engine is started, and when they look at what is on
// disk. Functions may be called at once.
//
// Start reading at header.go.
package safetensors
