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
}
