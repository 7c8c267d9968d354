package fabrictest

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"llmgw.io/llmgw/agent/protocol"
)

// MethodIBWrite is the method of a test by ib_write_bw, a program of the package
// perftest: writes from memory to memory by the adapters alone.
const MethodIBWrite = "ib_write_bw"

const (
	// mostSaid bounds what is read of what the program says.
	mostSaid = 64 << 10
	// mostReason bounds what its complaint becomes.
	mostReason = 200
	// mostGbps is more than any port has.
	mostGbps = 1e5
	// mebibyte is what the program calls a megabyte, in bits of a gigabit.
	mebibyte = 8 * (1 << 20) / 1e9
)

// adapterName is what the kernel calls adapters. It begins with no dash, which would
// make it a flag.
var adapterName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$`)

func checkAdapter(a protocol.FabricTestArgs) error {
	switch {
	case !adapterName.MatchString(a.Device):
		return errors.New("a fabric test by ib_write_bw needs the name of an adapter of this node, such as mlx5_0")
	case a.DevicePort < 1 || a.DevicePort > 255:
		return fmt.Errorf("%d is no port of an adapter; they are counted from 1", a.DevicePort)
	}
	return nil
}

// ibWriteArgs is the program's command line, at the end that listens without an
// address. Both ends say the same else.
func ibWriteArgs(a protocol.FabricTestArgs, port int, to string) []string {
	args := []string{
		"-d", a.Device, "-i", strconv.Itoa(a.DevicePort), "-p", strconv.Itoa(port), "-D", strconv.Itoa(a.Seconds), "--report_gbits", "-F",
	}
	if to != "" {
		args = append(args, to)
	}
	return args
}

// column is a column of the program's table: words with single spaces between them.
var column = regexp.MustCompile(`\S+(?: \S+)*`)

// parseIBWrite reads the average bandwidth, in Gbit/s, of the last row of what the
// program prints.
func parseIBWrite(said string) (gbps float64, err error) {
	place, unit := -1, 0.
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#bytes") {
			if place, unit, err = average(line); err != nil {
				return 0, err
			}
			continue
		}
		fields := strings.Fields(line)
		if place < 0 || len(fields) <= place {
			continue
		}
		if _, err := strconv.ParseUint(fields[0], 10, 64); err != nil {
			continue
		}
		n, err := strconv.ParseFloat(fields[place], 64)
		if n *= unit; err != nil || math.IsNaN(n) || n <= 0 || n > mostGbps {
			return 0, fmt.Errorf("it measured %q, which is no bandwidth", clip(fields[place]))
		}
		gbps = n
	}
	if gbps == 0 {
		return 0, errors.New("it printed no bandwidth")
	}
	return gbps, nil
}

// average finds the column of the average in the head of the table, and what makes
// its unit Gbit/s.
func average(head string) (place int, unit float64, err error) {
	for i, name := range column.FindAllString(head, -1) {
		of, ok := strings.CutPrefix(name, "BW average[")
		if !ok {
			continue
		}
		switch strings.TrimSuffix(of, "]") {
		case "Gb/sec":
			return i, 1, nil
		case "MB/sec", "MiB/sec":
			return i, mebibyte, nil
		}
		return 0, 0, fmt.Errorf("it measures in %q, which nobody here knows", clip(of))
	}
	return 0, 0, errors.New("its table has no average")
}

// complaints are what the program's complaints have in them.
var complaints = []string{"unable", "couldn't", "did not", "failed", "not found", "error", "please", "invalid"}

// complaint is the first thing that the program complains of, fit to be shown; without
// one the last that it said.
func complaint(said string) string {
	last := ""
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if strings.Trim(line, "-* ") == "" {
			continue
		}
		last = line
		low := strings.ToLower(line)
		for _, word := range complaints {
			if strings.Contains(low, word) {
				return clip(line)
			}
		}
	}
	return clip(last)
}

// notThere reports whether the end that listens was not to be reached, which it is not
// yet in its first moments.
func notThere(said string) bool {
	return strings.Contains(said, "Couldn't connect to") || strings.Contains(said, "Unable to connect")
}

func clip(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(s[:min(len(s), mostReason)], ""))
	return strings.TrimSpace(s)
}
