// Package bunstore keeps everything in a SQL database, behind bun; today that is
// SQLite, in one file that one process uses.
//
// It holds no rule of its own beyond those of package storage: what a write
// means, what is noted and which error is answered stands there. It is the only
// place that knows SQL, bun and the driver, and no error of theirs leaves it.
//
// A control plane opens it and hands it on as a storage.Store. Everything may be
// called at once from many goroutines: writes queue for the one connection that
// writes, each a transaction together with its audit event and on the disk when
// it is acknowledged; reads go on beside them.
//
// Start reading at bunstore.go and tx.go; the tables are in migrations.
package bunstore
