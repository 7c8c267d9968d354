// Package topology reads the map of an InfiniBand fabric: its switches, the
// adapters at its edge and the links between them, as ibnetdiscover prints them.
//
// It asks nobody and knows no nodes of ours: who has the text of a map calls
// [Parse], and joins the adapters with ports by their GUIDs. The text may come
// from a machine that is not trusted and may be cut; what is whole in it is kept,
// and the [Map] says what is missing.
//
// All is pure, and safe to call at once.
//
// Start reading at map.go, then parse.go; line.go takes single lines apart.
package topology
