// Package adminapi is the management surface of the control plane: what people
// and their tools ask and order, over HTTP and JSON.
//
// One table of routes (route.go and the tables beside it) is the source of the
// mux, of the OpenAPI document, and of what the client and the commands must
// have. The package decides nothing: it asks its seams (seams.go), builds
// answers with package view, and turns errors into statuses in one table
// (errors.go). It opens no listener; the time limits of connections belong to
// whoever serves it. A part that is not wired in closes its routes with a
// sentence, and no handler checks for one.
//
// The control plane's roof makes an [API]; another program mounts it into a
// server of its own. An API may be used by any number of goroutines at once.
//
// Start reading at route.go, then adminapi.go, seams.go and models.go.
package adminapi
