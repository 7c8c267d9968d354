// Package inspect has the control plane look into weights before it takes a
// definition that names them: by ranges of their files at the source, within
// bounds of bytes and time. What no node could do anything about, such as a file
// that is no model or a part that is missing, refuses the definition with its
// field; what cannot be looked at, since nodes may reach what this machine cannot,
// is a warning.
//
// An [Inspector] is a catalog.Inspector. Run looks at what is in force already, and
// again at what was slow or away when its definition was taken. It keeps what it
// saw in memory alone, fetches nothing, and reads no file of this machine. How
// files lie at their sources is agent/fetch's to know. The root runs it, and shows
// what it saw by the admin API. All methods may be called at once.
//
// Start reading at inspect.go, then look.go.
package inspect
