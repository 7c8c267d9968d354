package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestScripts runs every rule about a definition as text: a definition in, the
// complaints out. Run with -rewrite to make the answers anew, and commit only a
// difference that you understand.
//
// Commands: "model" checks one definition alone; "catalog" checks several, one
// JSON value after the other, against each other too; "args ENGINE" says of each
// line why it is reserved; "env" the same of variables; "names" which are names.
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/validate", func(t *testing.T, path string) {
		t.Parallel()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "model":
				return complaintLines(Validate(&decode(t, d.Input)[0]))
			case "catalog":
				return checkAll(decode(t, d.Input))
			case "args":
				e := Engine(d.CmdArgs[0].Key)
				return eachLine(d.Input, func(s string) string { return ReservedArg(e, s) })
			case "env":
				return eachLine(d.Input, ReservedEnv)
			case "names":
				return eachLine(d.Input, func(s string) string {
					if Name(s).Valid() {
						return ""
					}
					return "no name"
				})
			}
			t.Fatalf("unknown command %q", d.Cmd)
			return ""
		})
	})
}

func decode(t *testing.T, text string) []Model {
	t.Helper()
	var out []Model
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.DisallowUnknownFields()
	for dec.More() {
		var m Model
		if err := dec.Decode(&m); err != nil {
			t.Fatalf("the script's definition: %v", err)
		}
		out = append(out, m)
	}
	return out
}

func checkAll(ms []Model) string {
	entries := make([]Entry, len(ms))
	var b strings.Builder
	for i := range ms {
		entries[i] = Entry{Model: ms[i]}
		if err := Validate(&ms[i]); err != nil {
			b.WriteString(complaintLines(err))
		}
	}
	b.WriteString(complaintLines(ValidateAll(NewIndex(1, entries))))
	return b.String()
}

func complaintLines(err error) string {
	if err == nil {
		return "sound\n"
	}
	var b strings.Builder
	for _, c := range Complaints(err) {
		mark := ""
		if c.Conflict {
			mark = " (conflict)"
		}
		fmt.Fprintf(&b, "%s: %s%s\n", c.Field, c.Problem, mark)
	}
	return b.String()
}

func eachLine(text string, why func(string) string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		answer := why(line)
		if answer == "" {
			answer = "may be used"
		}
		fmt.Fprintf(&b, "%s: %s\n", line, answer)
	}
	return b.String()
}
