package engines

import (
	"fmt"
	"regexp"
	"strings"

	"llmgw.io/llmgw/agent/protocol"
)

// rule knows one way to fail by a line of the log.
type rule struct {
	line  *regexp.Regexp
	cause protocol.Cause
	// text is a sentence; $1 is what the line's first group caught.
	text string
}

// quietLine is a line that llama-server does not mean as an error.
var quietLine = regexp.MustCompile(`^\d+(\.\d+)+ [IWDT] `)

// explain puts the end of a process into words. The rules are tried in their
// order, each on all lines: a cause has to win over what follows from it, and
// engines write both. An end that nobody asked for is a failure whatever the
// code is.
func explain(name string, rules []rule, e protocol.Exit) protocol.Failure {
	if e.Asked {
		return protocol.Failure{Cause: protocol.CauseExited, Text: name + " was stopped"}
	}
	if e.OOMKilled {
		return protocol.Failure{Cause: protocol.CauseMemory, Text: name + " was killed because it used more memory than its shard has; raise the profile's min_memory_gb, or lower its context or slots"}
	}
	for _, r := range rules {
		for _, l := range e.LastLines {
			if m := r.line.FindStringSubmatch(l); m != nil && !quietLine.MatchString(l) {
				return protocol.Failure{Cause: r.cause, Text: fill(r.text, m[1:])}
			}
		}
	}
	cause, text := byCode(name, e)
	return protocol.Failure{Cause: cause, Text: text}
}

// fill puts what a line's groups caught into a sentence.
func fill(text string, groups []string) string {
	for i, g := range groups {
		text = strings.ReplaceAll(text, fmt.Sprintf("$%d", i+1), clip(g))
	}
	return text
}

// byCode is what the code or the signal alone says.
func byCode(name string, e protocol.Exit) (protocol.Cause, string) {
	switch {
	case e.Signal != 0:
		return bySignal(name, e.Signal)
	case e.Code < 0:
		return protocol.CauseExited, name + " ended while the agent was away, so nobody knows how; see its last lines"
	case e.Code == 126, e.Code == 127:
		return protocol.CauseEngine, name + " could not be run; install it again"
	case e.Code == 0:
		return protocol.CauseExited, name + " ended by itself, with code 0 and without a reason; see its last lines"
	case e.Started:
		return protocol.CauseExited, fmt.Sprintf("%s ended with code %d while it served; see its last lines", name, e.Code)
	}
	return protocol.CauseUnknown, fmt.Sprintf("%s did not start and ended with code %d; see its last lines", name, e.Code)
}

// Signals by number, which are the same on every system that runs engines.
const (
	sigILL  = 4
	sigABRT = 6
	sigBUS  = 7
	sigKILL = 9
	sigSEGV = 11
	sigTERM = 15
)

func bySignal(name string, signal int) (protocol.Cause, string) {
	switch signal {
	case sigILL:
		return protocol.CauseEngine, name + " is built for another processor than this one; install a build for it"
	case sigBUS:
		return protocol.CauseFile, name + " lost the file of its weights while it read them: it was cut or its disk failed; fetch the weights again"
	case sigKILL:
		return protocol.CauseExited, name + " was killed from outside; look whether the system ran out of memory (dmesg), or who did it"
	case sigTERM:
		return protocol.CauseExited, name + " was told to stop by somebody else than the agent"
	case sigABRT, sigSEGV:
		return protocol.CauseExited, fmt.Sprintf("%s crashed (signal %d); see its last lines, and try another build", name, signal)
	}
	return protocol.CauseExited, fmt.Sprintf("%s was ended by signal %d", name, signal)
}

// makeRules makes a table of rows of three: pattern, cause, text. A pattern that
// does not compile is a broken invariant and panics.
func makeRules(rows [][3]string) []rule {
	out := make([]rule, len(rows))
	for i, r := range rows {
		out[i] = rule{line: regexp.MustCompile(r[0]), cause: protocol.Cause(r[1]), text: r[2]}
	}
	return out
}
