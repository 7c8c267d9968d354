package bunstore

// dialect is what differs between databases. Statements are written so that
// SQLite and PostgreSQL both take them.
type dialect struct {
	kind string
	// place is where the data lies, for messages to people.
	place string
	// migrations is the folder of its migrations.
	migrations string
	// classify turns an error of the driver into one of the contract, with the
	// next step. Nil: it is not the driver's.
	classify func(error) error
	// again reports whether the same transaction may well succeed when it is
	// tried once more. Nil: none may.
	again func(error) bool
	// lockSchema keeps others from migrating at the same time. Empty: nobody
	// else could.
	lockSchema string
	// binds tells that values are best bound to statements that are prepared once.
	binds bool
}
