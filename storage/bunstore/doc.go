// Package bunstore keeps everything in a SQL database, behind bun: in SQLite, in
// one file that one process uses, or in PostgreSQL, for any number of processes.
//
// It holds no rule of its own beyond those of package storage: what a write
// means, what is noted and which error is answered stands there. It is the only
// place that knows SQL, bun and the driver, and no error of theirs leaves it.
//
// A control plane opens it and hands it on as a storage.Store. Everything may be
// called at once from many goroutines. Each write is a transaction together with
// its audit event, and on the disk when it is acknowledged; reads go on beside
// it. On SQLite writes queue for the one connection that writes; on PostgreSQL
// they lock rows, and one that lost against others is run again.
//
// Start reading at bunstore.go and tx.go; the tables are in migrations.
package bunstore
