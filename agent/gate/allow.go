package gate

// HeaderDraining marks a refusal of a gate that drains: nothing of the request
// has reached the engine, so it may be sent to another replica whatever it is.
const HeaderDraining = "X-Llmgw-Draining"

const get, post = "GET", "POST"

// pass is what may be done with a path.
type pass struct {
	method, path string
	// work keeps the engine busy: it is counted, and refused while the gate drains.
	work bool
}

// passes is all that goes through. What is not here does not: engines have
// routes that load and unload weights, stop, sleep, run code or read files, and
// some of them ask nobody for a key. Adapters are loaded by the agent, which
// reaches the engine without a gate.
func passes() []pass {
	return []pass{
		{post, "/v1/chat/completions", true},
		{post, "/v1/completions", true},
		{post, "/v1/embeddings", true},
		{post, "/v1/responses", true},
		{post, "/v1/rerank", true},
		{post, "/v1/messages", true},
		{post, "/v1/messages/count_tokens", true},
		{post, "/v1/audio/transcriptions", true},
		{post, "/v1/audio/translations", true},
		{get, "/v1/models", false},
		{get, "/health", false},
	}
}

// find looks for a request's target as it stands in its first line. Nothing is
// decoded or cleaned, and no query passes: two readers of a path that is written
// in another way could take it for two things.
func find(list []pass, method, target string) (pass, bool) {
	for _, p := range list {
		if p.path == target && p.method == method {
			return p, true
		}
	}
	return pass{}, false
}

// inward is what an engine is told of a request's headers. Credentials, cookies,
// addresses and whatever else steers some engine stay outside.
func inward() []string {
	return []string{"Accept", "Accept-Encoding", "Content-Type", "Traceparent", "Tracestate", "User-Agent", "X-Request-Id"}
}

// staysInside reports whether a header of an engine's answer is not passed on: it
// is of the connection to the engine, or it is a word of ours that an engine must
// not say.
func staysInside(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
		"Set-Cookie", "Www-Authenticate", HeaderDraining:
		return true
	}
	return false
}
