// Package releasetest signs files as minisign does, for tests: by the format, and
// not by the library that reads it.
//
// It is for tests only; nothing it makes should be trusted elsewhere. A Pen may be
// used by many goroutines at once. Start reading at pen.go.
package releasetest
