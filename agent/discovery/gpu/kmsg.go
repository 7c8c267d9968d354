package gpu

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	// xidLine and offBusLine are how the driver writes into the kernel's log.
	xidLine    = regexp.MustCompile(`NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]+)\).*?: (\d{1,4})\b`)
	offBusLine = regexp.MustCompile(`NVRM: GPU (?:at )?(?:PCI:)?([0-9a-fA-F]{4,}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?).*fallen off the bus`)
)

// kernelLine reads a record of /dev/kmsg: "priority,number,microseconds,flags;text".
// Records of other programs, which may write there too, are no word of the driver.
func kernelLine(line string, now time.Time, old bool) (Event, bool) {
	head, message, ok := strings.Cut(line, ";")
	if !ok {
		return Event{}, false
	}
	priority, _, _ := strings.Cut(head, ",")
	if p, err := strconv.Atoi(priority); err != nil || p>>3 != 0 {
		return Event{}, false
	}
	e := Event{At: now, Old: old}
	if m := xidLine.FindStringSubmatch(message); m != nil {
		e.PCI = logAddress(m[1])
		e.XID, _ = strconv.Atoi(m[2])
		return e, true
	}
	if m := offBusLine.FindStringSubmatch(message); m != nil {
		e.PCI, e.OffBus = logAddress(m[1]), true
		return e, true
	}
	return Event{}, false
}

// logAddress is an address as the log has it, which may lack the function.
func logAddress(s string) string {
	s = Address(s)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
