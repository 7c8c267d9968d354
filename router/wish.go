package router

import (
	"net/http"
	"strings"
)

// wishRefused reports whether a replica refuses a request for our own wish for
// usage, and takes the wish back: there are endpoints that know no stream_options,
// and a client must not be refused for what it never sent. What its stream cost is
// a guess then.
func (x *exchange) wishRefused(f *failure) bool {
	if f == nil || x.shown || !x.streams() || x.asked.IncludeUsage || x.unwished {
		return false
	}
	if f.upstream != http.StatusBadRequest && f.upstream != http.StatusUnprocessableEntity || !strings.Contains(f.Message, "stream_options") {
		return false
	}
	x.setUnwished(true)
	return true
}

// setUnwished says whether replicas are not asked for usage, as the client is not
// asking either.
func (x *exchange) setUnwished(on bool) { x.unwished = on }
