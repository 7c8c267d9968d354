package catalog

import (
	"net/url"
	"path"
	"strings"
)

// checkSource checks where the weights come from, and that they come from
// somewhere when an engine needs them.
func checkSource(c *complaints, m *Model) {
	needs := false
	for i := range m.Profiles {
		e := m.Profiles[i].Engine
		needs = needs || e != EngineStatic && e != EngineSim
	}
	switch {
	case m.Source == "" && needs:
		c.add("source", "the profiles need weights; name where they come from, such as file:///srv/models/x.gguf or https://…")
	case m.Source != "" && m.External != nil:
		c.add("source", "another provider serves this model, so it has no weights; leave source out")
	case m.Source != "":
		if why := sourceProblem(m.Source); why != "" {
			c.add("source", "%s", why)
		}
	}
}

// sourceProblem says what is wrong with a source; empty when nothing is.
func sourceProblem(s string) string {
	if strings.ContainsAny(s, " \t\r\n\\") || !printable(s) {
		return "a source may hold no spaces, backslashes or control characters; encode them as %20 and the like"
	}
	if sum, ok := strings.CutPrefix(s, "mirror:"); ok {
		// What stands there is no host and port, and a URL only in its form.
		if sum, ok = strings.CutPrefix(sum, "//sha256:"); !ok || !isSHA256(sum) {
			return quote(s) + " names no content; write mirror://sha256: and 64 hexadecimal digits"
		}
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" {
		return quote(s) + " is no source; write file:///…, https://…, hf://org/name@rev or mirror://sha256:…"
	}
	if u.User != nil {
		return "a source may not carry a user or password; they would be shown to everyone who may read the model"
	}
	switch u.Scheme {
	case "file":
		if u.Host != "" || !path.IsAbs(u.Path) || u.Path == "/" || u.Path != path.Clean(u.Path) {
			return quote(s) + " is no absolute path; write file:///srv/models/x.gguf, with three slashes and no \"..\""
		}
	case "http", "https":
		if u.Hostname() == "" || strings.Trim(u.Path, "/") == "" {
			return quote(s) + " names no file; write https://host/path/to/file"
		}
	case "hf":
		if !hubRepo(strings.TrimPrefix(s, "hf://")) {
			return quote(s) + " is no repository; write hf://org/name@revision, or hf://org/name@revision/file"
		}
	default:
		return "the scheme " + quote(u.Scheme) + " is not known; use file, https, http, hf or mirror"
	}
	if sum, ok := strings.CutPrefix(u.Fragment, "sha256="); u.Fragment != "" && (!ok || !isSHA256(sum)) {
		return "the part after # must be sha256= and 64 hexadecimal digits"
	}
	return ""
}

func quote(s string) string { return "\"" + s + "\"" }

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] == 0x7f {
			return false
		}
	}
	return true
}

// hubRepo reports whether s reads "org/name", with "@revision" and a file
// behind it or without.
func hubRepo(s string) bool {
	s, _, _ = strings.Cut(s, "#")
	repo, rest, pinned := strings.Cut(s, "@")
	org, name, ok := strings.Cut(repo, "/")
	if !ok || !plainWord(org) || !plainWord(name) {
		return false
	}
	if !pinned {
		return true
	}
	rev, file, hasFile := strings.Cut(rest, "/")
	return plainWord(rev) && (!hasFile || relativePath(file))
}

// relativePath reports whether p stays inside the folder it is joined to.
func relativePath(p string) bool {
	return p != "" && !path.IsAbs(p) && path.Clean(p) == p && p != ".." && !strings.HasPrefix(p, "../") &&
		printable(p) && !strings.Contains(p, "\\")
}

func isSHA256(s string) bool {
	if len(s) != 64 {
		return false
	}
	for i := range len(s) {
		if !strings.ContainsRune("0123456789abcdef", rune(s[i])) {
			return false
		}
	}
	return true
}

// MaxFileBytes bounds one file of weights, so that sizes of any number of them
// can be summed.
const MaxFileBytes = 16 << 40

func checkFiles(c *complaints, files []File) {
	seen := map[string]bool{}
	for i, f := range files {
		field := at("files", i)
		switch {
		case !relativePath(f.Path):
			c.add(field+".path", "%q is no path inside the model's folder; write it without a leading / and without \"..\"", f.Path)
		case seen[f.Path]:
			c.add(field+".path", "%q is named twice", f.Path)
		}
		seen[f.Path] = true
		if f.SHA256 != "" && !isSHA256(f.SHA256) {
			c.add(field+".sha256", "a SHA-256 has 64 hexadecimal digits in lower case; compute it with sha256sum")
		}
		c.negative(field+".bytes", f.Bytes)
		if f.Bytes > MaxFileBytes {
			c.add(field+".bytes", "no file of weights has %d bytes; leave it out when the size is not known", f.Bytes)
		}
	}
}

func checkExternal(c *complaints, e *External) {
	if e == nil {
		return
	}
	if why := webProblem(e.URL); why != "" {
		c.add("external.url", "%s", why)
	}
	if e.Model == "" {
		c.add("external.model", "name the model as the provider calls it")
	}
	if e.API != "" && e.API != "openai" && e.API != "anthropic" {
		c.add("external.api", "%q is no dialect; use openai or anthropic", e.API)
	}
	c.negative("external.timeout", int64(e.Timeout))
	if l := e.Limits; l != nil {
		c.negative("external.limits.requests_per_minute", int64(l.RequestsPerMinute))
		c.negative("external.limits.tokens_per_minute", int64(l.TokensPerMinute))
		c.negative("external.limits.concurrency", int64(l.Concurrency))
	}
}

// webProblem says what is wrong with the base address of a server.
func webProblem(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		return quote(s) + " is no address; write http://host:port or https://host"
	case u.User != nil:
		return "an address may not carry a user or password; use key"
	case u.RawQuery != "" || u.Fragment != "":
		return quote(s) + " may not have a query or a fragment; write the base address alone"
	}
	return ""
}
