package ports

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"llmgw.io/llmgw/inventory"
)

const (
	// askLimit bounds one question; its packets are lost after a part of it.
	askLimit = 10 * time.Second
	// packetLimit is how long a packet is waited for, in milliseconds.
	packetLimit = "500"
	// askSpan bounds all questions of one look: other facts wait for it.
	askSpan = 15 * time.Second
	// installDiags is what to do where a tool is missing.
	installDiags = "install the package infiniband-diags"
)

// managed is what is known of who manages one port's fabric.
type managed struct {
	// lid and smLID are the port's when it was asked last; others mean that its
	// fabric may be another.
	lid, smLID int
	// asked is when its fabric was asked last, through whichever port; own when
	// this port was. Zero: never, or it has to be asked anew.
	asked, own time.Time
	// sm is the last that is known, kept while nobody answers. err is why nobody
	// does.
	sm  *inventory.SubnetManager
	sms []inventory.SubnetManager
	err string
	mtu int
}

func (m *managed) guid() string {
	if m.sm == nil {
		return ""
	}
	return m.sm.GUID
}

// managers decides which port is asked when. All ports with one manager are on
// one fabric, so one is asked for all of them; which fabric a port is on is only
// known when it was asked itself.
type managers struct {
	every time.Duration
	seen  map[string]*managed
}

// note takes the ports that are active now: one that was not, or whose addresses
// are others, has to be asked anew.
func (m *managers) note(active []*inventory.Port) {
	there := map[string]bool{}
	for _, p := range active {
		key := keyOf(p)
		there[key] = true
		s := m.seen[key]
		if s == nil {
			s = &managed{}
			m.seen[key] = s
		}
		if s.lid != p.LID || s.smLID != p.SMLID {
			s.lid, s.smLID, s.asked, s.own = p.LID, p.SMLID, time.Time{}, time.Time{}
		}
	}
	// One that comes back may be on another fabric: nothing is said of it until it
	// was asked.
	maps.DeleteFunc(m.seen, func(key string, _ *managed) bool { return !there[key] })
}

// due is the port to ask next, or nil. Those that were never asked come first.
// Of one fabric that one is asked which was not for the longest time, so that a
// port that cannot ask does not stand for those that can.
func (m *managers) due(active []*inventory.Port, now time.Time) *inventory.Port {
	var best *inventory.Port
	for _, p := range active {
		s := m.seen[keyOf(p)]
		if !s.asked.IsZero() && now.Sub(s.asked) < m.every {
			continue
		}
		if best == nil || s.own.Before(m.seen[keyOf(best)].own) {
			best = p
		}
	}
	return best
}

// answered takes what the port p heard, or why it heard nothing, and says it of
// all ports of its fabric.
func (m *managers) answered(active []*inventory.Port, p *inventory.Port, sm *inventory.SubnetManager, sms []inventory.SubnetManager, why string, now time.Time) {
	s := m.seen[keyOf(p)]
	was := s.guid()
	s.asked, s.own = now, now
	for _, other := range active {
		o := m.seen[keyOf(other)]
		switch same := o.guid() == was && o.smLID == s.smLID; {
		case !same:
		case why != "":
			// Ports that would ask the same address in vain are not tried one by one.
			o.err, o.asked = why, now
		case o == s || sm.GUID == was:
			o.err, o.sm, o.asked = "", sm, now
			if sms != nil {
				o.sms = sms
			}
		default:
			o.asked = time.Time{} // another manager: is it this port's as well?
		}
	}
	if why == "" && sm.GUID != was && sms == nil {
		s.sms = nil // those of the one before are not its
	}
}

// manage asks who manages the fabrics of the InfiniBand ports in the list, where
// it is time to, and says it of each.
func (r *Reader) manage(ctx context.Context, list []inventory.Port, now time.Time) {
	var active []*inventory.Port
	for i := range list {
		p := &list[i]
		switch {
		case p.LinkLayer != layerInfiniBand:
		case p.Active:
			active = append(active, p)
		case p.State == stateInit && p.PhysState == physUp:
			p.SMError = noManager
		}
	}
	r.managers.note(active)
	begun := time.Now()
	for range 2 * len(active) { // each port once, and once more where its manager is another
		p := r.managers.due(active, now)
		if p == nil || ctx.Err() != nil || time.Since(begun) > askSpan {
			break
		}
		sm, sms, err := r.askManager(ctx, p)
		why := ""
		if err != nil {
			why = err.Error()
		}
		if ctx.Err() != nil {
			break // the question was given up, which says nothing
		}
		r.managers.answered(active, p, sm, sms, why, now)
	}
	for _, p := range active {
		s := r.managers.seen[keyOf(p)]
		p.SMError, p.SMs, p.MTU = s.err, slices.Clone(s.sms), s.mtu
		if s.sm == nil && s.err == "" {
			p.SMError = "its fabric was not asked yet who manages it"
		}
		if s.sm != nil {
			sm := *s.sm
			p.SM, p.Physical = &sm, "sm:"+sm.GUID
		}
	}
}

// askManager asks through one port. The list of all managers is nil where only
// the one in charge answers.
func (r *Reader) askManager(ctx context.Context, p *inventory.Port) (*inventory.SubnetManager, []inventory.SubnetManager, error) {
	at := []string{"-C", p.HCA, "-P", strconv.Itoa(p.Port), "-t", packetLimit}
	out, err := r.ask(ctx, r.cfg.Tools.SMInfo, "sminfo", at...)
	if err != nil {
		return nil, nil, err
	}
	sm, err := parseSMInfo(string(out))
	if err != nil {
		return nil, nil, err
	}
	if s := r.managers.seen[keyOf(p)]; s.mtu == 0 {
		if out, err := r.ask(ctx, r.cfg.Tools.SMPQuery, "smpquery", append(at, "-D", "portinfo", "0", strconv.Itoa(p.Port))...); err == nil {
			s.mtu = parseMTU(string(out))
		}
	}
	out, err = r.ask(ctx, r.cfg.Tools.SAQuery, "saquery", append(at, "SMIR")...)
	if err != nil {
		return &sm, nil, nil //nolint:nilerr // who stands by is a detail; who manages is known
	}
	return &sm, parseSMRecords(string(out)), nil
}

// ask runs one of the tools. Where they cannot work at all, the error says what
// to do.
func (r *Reader) ask(ctx context.Context, path, name string, args ...string) ([]byte, error) {
	path, err := find(path, name)
	if errors.Is(err, errMissing) {
		return nil, fmt.Errorf("%s is not installed; %s", name, installDiags)
	}
	out, err := r.tool(ctx, askLimit, mostAnswer, path, args...)
	if err != nil {
		return nil, r.advise(err)
	}
	return out, nil
}

// advise adds the next step to a tool's complaint that it cannot open the way to
// the fabric.
func (r *Reader) advise(err error) error {
	if !strings.Contains(err.Error(), "open") {
		return err // the way is open, and nobody answers
	}
	devices, _ := filepath.Glob(filepath.Join(r.cfg.Dev, "infiniband/umad*"))
	if _, missing := os.Stat(r.sys("class/infiniband_mad")); missing != nil {
		return fmt.Errorf("%w; load the kernel's module ib_umad", err)
	}
	if len(devices) == 0 {
		return fmt.Errorf("%w; give the agent's container the devices /dev/infiniband/umad*", err)
	}
	return fmt.Errorf("%w; run the agent as root, or let it use /dev/infiniband/umad*", err)
}
