package ports

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"llmgw.io/llmgw/inventory"
)

// mostManagers bounds how many a fabric may have.
const mostManagers = 32

const (
	smMaster  = "master"
	noManager = "no subnet manager has configured it; look whether one runs on its fabric"
)

// smStates are by the number that travels.
var smStates = []string{"notact", "discover", "standby", smMaster}

var smLine = regexp.MustCompile(`sm lid (\d+) sm guid (0x[0-9a-f]+), activity count \d+ priority (\d+) state (\d+)`)

// parseSMInfo reads what sminfo prints of the manager of a port's fabric.
func parseSMInfo(text string) (inventory.SubnetManager, error) {
	m := smLine.FindStringSubmatch(text)
	if m == nil {
		return inventory.SubnetManager{}, errors.New("sminfo prints something else than a subnet manager; look at the version of infiniband-diags")
	}
	sm := inventory.SubnetManager{GUID: guid(m[2]), LID: lid(m[1]), Priority: small(m[3]), State: smState(m[4])}
	switch {
	case sm.GUID == "":
		return sm, errors.New("the subnet manager has no GUID")
	case sm.State != smMaster:
		// One that hands over is not the fabric's identity.
		return sm, fmt.Errorf("the subnet manager at LID %d does not manage now: it is in state %s", sm.LID, sm.State)
	}
	return sm, nil
}

func smState(number string) string {
	if n, err := strconv.Atoi(number); err == nil && n >= 0 && n < len(smStates) {
		return smStates[n]
	}
	return "unknown"
}

func small(s string) int {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil {
		return 0
	}
	return int(n)
}

// dotted reads a line of "Name....value": the number of dots varies.
func dotted(line string) (name, value string, ok bool) {
	line = strings.TrimSpace(line)
	at := strings.Index(line, "..")
	if at < 0 {
		return "", "", false
	}
	return strings.TrimSuffix(line[:at], ":"), strings.TrimSpace(strings.TrimLeft(line[at:], ".")), true
}

// parseSMRecords reads what saquery prints of all managers, the masters first,
// then by GUID.
func parseSMRecords(text string) []inventory.SubnetManager {
	var out []inventory.SubnetManager
	var at *inventory.SubnetManager
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "SMInfoRecord") && len(out) < mostManagers {
			out = append(out, inventory.SubnetManager{State: "unknown"})
			at = &out[len(out)-1]
		}
		name, value, ok := dotted(line)
		if !ok || at == nil {
			continue
		}
		switch name {
		case "LID":
			at.LID = lid(value)
		case "GUID":
			at.GUID = guid(value)
		case "Priority":
			at.Priority = small(value)
		case "SMState":
			at.State = smState(value)
		}
	}
	out = slices.DeleteFunc(out, func(sm inventory.SubnetManager) bool { return sm.GUID == "" })
	slices.SortFunc(out, func(a, b inventory.SubnetManager) int {
		if (a.State == smMaster) != (b.State == smMaster) {
			if a.State == smMaster {
				return -1
			}
			return 1
		}
		return strings.Compare(a.GUID, b.GUID)
	})
	return out
}

// parseMTU reads the path's MTU in what smpquery prints of a port. Zero: it does
// not say.
func parseMTU(text string) int {
	for line := range strings.Lines(text) {
		if name, value, ok := dotted(line); ok && name == "NeighborMTU" {
			return small(value)
		}
	}
	return 0
}
