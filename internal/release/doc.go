// Package release says whether bytes are the release of the agent that was asked
// for: a signature in minisign's format, by a key that is trusted, over the file and
// over a comment that names the version, the system and the file.
//
// The comment is signed together with the file, so that an older release, or the
// one for another machine, cannot be served in the place of another though its own
// signature is good. Versions are compared as https://semver.org orders them.
//
// It fetches nothing and has no clock; agent/upgrade brings the bytes. It signs
// nothing either: scripts/sign-release.sh does. Everything here is safe for
// concurrent use. Start reading at [Verify].
package release
