package ports

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	imexDevices = "nvidia-caps-imex-channels"
	imexService = "nvidia-imex.service"
	imexLimit   = 5 * time.Second
)

// What is said of the IMEX service where it is no word of its own.
const (
	imexStopped = "stopped"
	imexRunning = "running"
)

// IMEX says the state of the service that lets devices of several machines reach
// each other, and how many channels there are for processes. The state is empty
// where it is not installed, "stopped", "running" where only that is known, or
// the service's own word. Channels are nil where the driver knows none.
func (r *Reader) IMEX(ctx context.Context) (state string, channels *int, warnings []string) {
	if r.imexDriver() {
		list, _ := filepath.Glob(filepath.Join(r.cfg.Dev, imexDevices, "channel*"))
		n := len(list)
		channels = &n
	}
	ctl, err := find(r.cfg.Tools.IMEXCtl, "nvidia-imex-ctl")
	if err != nil && channels == nil {
		return "", nil, nil // no driver and no tool: nothing is asked each minute
	}
	state = r.imexUnit(ctx)
	if ctl == "" || err != nil || state == imexStopped {
		return state, channels, nil
	}
	out, err := r.tool(ctx, imexLimit, mostAnswer, ctl, "-q")
	word := strings.ToUpper(strings.TrimSpace(string(out)))
	if err != nil || !imexWord.MatchString(word) {
		if state == "" {
			state = imexStopped // installed, and nobody answers
		}
		return state, channels, nil
	}
	if out, err = r.tool(ctx, imexLimit, mostAnswer, ctl, "-N", "-j"); err == nil {
		if d, err := parseIMEX(out); err == nil {
			warnings = d.warnings()
		}
	}
	return word, channels, warnings
}

// imexWord is what the service's own words look like.
var imexWord = regexp.MustCompile(`^[A-Z_]{2,40}$`)

// imexDriver reports whether the driver has channels at all.
func (r *Reader) imexDriver() bool {
	text := word(filepath.Join(r.cfg.Proc, "devices"))
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 2 && f[1] == imexDevices {
			return true
		}
	}
	return false
}

// imexUnit asks systemd. Empty: it knows no such service, or there is no systemd.
func (r *Reader) imexUnit(ctx context.Context) string {
	path, err := find(r.cfg.Tools.Systemctl, "systemctl")
	if err != nil {
		return ""
	}
	out, err := r.tool(ctx, imexLimit, mostAnswer, path, "show", imexService, "--property=LoadState,ActiveState")
	if err != nil {
		return ""
	}
	return unitState(string(out))
}

// unitState reads systemd's properties of the service.
func unitState(text string) string {
	said := map[string]string{}
	for line := range strings.Lines(text) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
		said[k] = v
	}
	switch {
	case said["LoadState"] != "loaded":
		return ""
	case said["ActiveState"] == "active":
		return imexRunning
	}
	return imexStopped
}

// imexDomain is what the service of one node says of its domain.
type imexDomain struct {
	// State is UP, DOWN or DEGRADED. A domain with places for nodes that are not
	// there is degraded, and that is normal.
	State string
	Nodes []imexNode
}

// imexNode is one that the service's list names.
type imexNode struct {
	Index   int
	Host    string
	Status  string
	Version string
	// Links are how it is connected to the others, by their index: CONNECTED,
	// INVALID and so on, in the words of the JSON form.
	Links map[int]string
}

// warnings tell what is set up wrongly, whoever is there and who is not.
func (d *imexDomain) warnings() []string {
	versions, maps := false, false
	for _, n := range d.Nodes {
		for _, l := range n.Links {
			versions = versions || strings.Contains(l, "VERSION")
			maps = maps || strings.Contains(l, "MAP")
		}
	}
	var out []string
	if versions {
		out = append(out, "IMEX services of this NVLink domain are of different versions and do not speak to each other; install one version on all nodes")
	}
	if maps {
		out = append(out, "IMEX services of this NVLink domain have different lists of nodes; make /etc/nvidia-imex/nodes_config.cfg the same on all nodes")
	}
	return out
}

// parseIMEX reads what nvidia-imex-ctl prints of the domain, as JSON or as text.
func parseIMEX(out []byte) (imexDomain, error) {
	out = bytes.TrimSpace(out)
	if bytes.HasPrefix(out, []byte("{")) {
		return parseIMEXJSON(out)
	}
	return parseIMEXText(string(out))
}

func parseIMEXJSON(out []byte) (imexDomain, error) {
	var body struct {
		Nodes map[string]struct {
			Status, Host, Version string
			Connections           map[string]struct{ Status string }
		}
		Status string
	}
	if err := json.Unmarshal(out, &body); err != nil {
		return imexDomain{}, fmt.Errorf("the state of the IMEX domain cannot be read: %w", err)
	}
	if body.Status == "" {
		return imexDomain{}, fmt.Errorf("the state of the IMEX domain cannot be read: it names none")
	}
	d := imexDomain{State: body.Status}
	for index, n := range body.Nodes {
		i, err := strconv.Atoi(index)
		if err != nil {
			continue
		}
		node := imexNode{Index: i, Host: n.Host, Status: n.Status, Version: n.Version, Links: map[int]string{}}
		for to, c := range n.Connections {
			if j, err := strconv.Atoi(to); err == nil {
				node.Links[j] = c.Status
			}
		}
		d.Nodes = append(d.Nodes, node)
	}
	slices.SortFunc(d.Nodes, func(a, b imexNode) int { return a.Index - b.Index })
	return d, nil
}

var imexTextNode = regexp.MustCompile(`^Node #(\d+)\s+-\s+(\S+)\s+-\s+(\S+)\s+-(?:\s+Version:\s*(\S*))?`)

// imexCells are the words of the JSON form for the letters of the text's table.
var imexCells = map[string]string{
	"C": "CONNECTED", "N": "NEVER_CONNECTED", "R": "RECOVERING", "D": "DISCONNECTED", "I": "INVALID", "A": "AUTHENTICATING",
	"!V!": "VERSION_MISMATCH", "!M!": "NODE_MAP_MISMATCH",
}

func parseIMEXText(text string) (imexDomain, error) {
	var d imexDomain
	at := map[int]int{}
	var columns []int
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := imexTextNode.FindStringSubmatch(line); m != nil {
			n := imexNode{Index: small(m[1]), Host: m[2], Status: m[3], Version: m[4], Links: map[int]string{}}
			at[n.Index] = len(d.Nodes)
			d.Nodes = append(d.Nodes, n)
			continue
		}
		if rest, ok := strings.CutPrefix(line, "Domain State:"); ok {
			d.State = strings.TrimSpace(rest)
			continue
		}
		if rest, ok := strings.CutPrefix(line, `Nodes From\To`); ok {
			for _, f := range strings.Fields(rest) {
				columns = append(columns, small(f))
			}
			continue
		}
		row(&d, at, columns, strings.Fields(line))
	}
	if d.State == "" {
		return imexDomain{}, fmt.Errorf("the state of the IMEX domain cannot be read: it names none")
	}
	return d, nil
}

// row takes a line of the table: the node and its connections. Other lines, as
// those of the legend, are of another length or name no node.
func row(d *imexDomain, at map[int]int, columns []int, cells []string) {
	if len(columns) == 0 || len(cells) != len(columns)+1 {
		return
	}
	from, err := strconv.Atoi(cells[0])
	i, known := at[from]
	if err != nil || !known {
		return
	}
	for k, to := range columns {
		if what, ok := imexCells[cells[k+1]]; ok {
			d.Nodes[i].Links[to] = what
		}
	}
}
