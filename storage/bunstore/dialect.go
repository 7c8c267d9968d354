package bunstore

// dialect is what differs between databases. Statements are written so that
// SQLite and PostgreSQL both take them.
type dialect struct {
	kind string
	// place is where the data lies, for messages to people.
	place string
	// migrations is the folder of its migrations.
	migrations string
	// classify returns the sentinel for an error of the driver and a sentence
	// about the mend; ok is false for errors of others.
	classify func(error) (sentinel error, mend string, ok bool)
}
