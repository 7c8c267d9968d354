// Package fix finds the smallest change that makes room for a request that found
// none, and proves it: whatever it offers was tried on a copy, and the placer
// found room there.
//
// It proposes and changes nothing. A change is one that people can order
// (uncordon a node, release a hold, stop a replica, reserve less), or the mending
// of a machine; see [Do] for the closed list and its order. It never proposes
// another shape of a profile, a replica of a higher class, or one of the model's
// own.
//
// It is pure. The index belongs to the caller and is afterwards what it was, so
// what is safe at once is what is safe with the index.
//
// Start reading at find.go, then mend.go for what is done about each reason.
package fix
