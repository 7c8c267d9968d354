// Package catalog holds what should be served: model definitions, the rules
// they obey, and the one service that changes them.
//
// It is not a store (it declares the [Store] seam), it does not know machines
// beyond their classes and levels, and it places nothing. Everything but
// [Service] is a plain value or a pure function; a [Service] may be used by any
// number of goroutines at once, and an [Index] is immutable.
//
// Start reading at model.go and profile.go, then validate.go and service.go.
package catalog
