package ports

import (
	"maps"
	"math"
	"path/filepath"
	"strconv"
	"time"

	"llmgw.io/llmgw/inventory"
)

// restFor is how long the counters of a port that is not up are taken for what
// they were: they hardly move, and on some adapters each look is logged.
const restFor = 5 * time.Minute

// Counters of real errors, by the kernel's name. What is not listed is traffic,
// congestion (port_xmit_wait, np_cnp_sent) or management (VL15_dropped).
var (
	portErrors = []string{
		"symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors", "port_rcv_remote_physical_errors",
		"port_rcv_switch_relay_errors", "port_xmit_discards", "port_xmit_constraint_errors", "port_rcv_constraint_errors",
		"local_link_integrity_errors", "excessive_buffer_overrun_errors",
	}
	driverErrors = []string{
		"out_of_sequence", "packet_seq_err", "local_ack_timeout_err", "rnr_nak_retry_err", "req_cqe_error", "resp_cqe_error",
		"implied_nak_seq_err", "roce_adp_retrans_to",
	}
)

// resting are the counters of a port that was not up.
type resting struct {
	at       time.Time
	counters inventory.PortCounters
}

// Counters reads the counters of all ports. What a port does not count is left
// out.
func (r *Reader) Counters() []inventory.PortCounters {
	found, err := r.adapters()
	if err != nil {
		return nil
	}
	now := time.Now()
	var out []inventory.PortCounters
	there := map[string]bool{}
	for _, a := range found {
		for _, n := range a.ports {
			p := inventory.Port{HCA: a.name, Port: n}
			at := filepath.Join(a.at, "ports", strconv.Itoa(n))
			p.State = named(word(filepath.Join(at, "state")))
			phys := named(word(filepath.Join(at, "phys_state")))
			p.Active = p.State == stateActive && (phys == physUp || phys == "")
			r.seen(&p, now)
			there[keyOf(&p)] = true
			out = append(out, r.count(&p, at, now))
		}
	}
	maps.DeleteFunc(r.resting, func(key string, _ resting) bool { return !there[key] })
	return out
}

func (r *Reader) count(p *inventory.Port, at string, now time.Time) inventory.PortCounters {
	key := keyOf(p)
	if was, ok := r.resting[key]; ok && !p.Active && now.Sub(was.at) < restFor {
		return was.counters
	}
	c := inventory.PortCounters{HCA: p.HCA, Port: p.Port}
	c.TxBytes, c.RxBytes = octets(filepath.Join(at, "counters/port_xmit_data")), octets(filepath.Join(at, "counters/port_rcv_data"))
	for dir, names := range map[string][]string{"counters": portErrors, "hw_counters": driverErrors} {
		for _, name := range names {
			if n, ok := counter(filepath.Join(at, dir, name)); ok && n > 0 {
				if c.Errors == nil {
					c.Errors = map[string]int64{}
				}
				c.Errors[name] = n
			}
		}
	}
	delete(r.resting, key)
	if !p.Active {
		r.resting[key] = resting{at: now, counters: c}
	}
	return c
}

// counter reads one. Some answer with an error or with a text: they do not count.
func counter(path string) (int64, bool) {
	s, err := read(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= 0
}

// octets reads a counter of data. The kernel counts it in words of four bytes,
// whatever the width of the link.
func octets(path string) *int64 {
	n, ok := counter(path)
	if !ok || n > math.MaxInt64/4 {
		return nil
	}
	n *= 4
	return &n
}
