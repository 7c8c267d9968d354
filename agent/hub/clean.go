package hub

import (
	"net/netip"
	"reflect"
	"strings"
	"unicode"

	"llmgw.io/llmgw/inventory"
)

// What is kept of an agent's word. More is cut off, not refused: a machine with
// a strange name of a device is still a machine.
const (
	maxName  = 253
	maxText  = 1 << 10
	maxLines = 40
	// maxList bounds lists and maps of facts but weights, of which there may be
	// many.
	maxList    = 256
	maxWeights = 10000
	maxShards  = 1000
	// maxNumber is beyond what any machine has of anything; sums of larger ones
	// would overflow, and infinite ones could not be shown to anybody.
	maxNumber = 1 << 50
)

// text keeps at most so many bytes of a stranger's text, without what could
// change a terminal, a log or the direction of what is read.
func text(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit]
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r == unicode.ReplacementChar, unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}

// facts cleans a node's report in place of its own copy. An address that could
// not be the machine's is left out: routers go where it says.
func (h *Hub) facts(f inventory.Facts, node inventory.NodeID, peer netip.Addr) inventory.Facts {
	weights := f.Weights
	if len(weights) > maxWeights {
		weights = weights[:maxWeights]
	}
	f.Weights = nil
	clean(reflect.ValueOf(&f).Elem(), maxList)
	if weights != nil {
		f.Weights = weights
		clean(reflect.ValueOf(&f.Weights).Elem(), maxWeights)
	}
	if a, err := netip.ParseAddr(f.MgmtAddr); err != nil || !mayBe(a, peer) || h.anothers(a, node, peer) {
		f.MgmtAddr = ""
	}
	return f
}

// clean walks over plain values: texts are cleaned, numbers bounded, lists and
// maps shortened.
// What v refers to is made anew before it is changed: an agent in this process
// goes on using its own.
func clean(v reflect.Value, limit int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text(v.String(), maxText))
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(min(max(v.Int(), -maxNumber), maxNumber))
	case reflect.Float64:
		v.SetFloat(min(max(v.Float(), -maxNumber), maxNumber))
	case reflect.Pointer:
		if !v.IsNil() {
			own := reflect.New(v.Type().Elem())
			own.Elem().Set(v.Elem())
			clean(own.Elem(), limit)
			v.Set(own)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				clean(f, limit)
			}
		}
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		own := reflect.MakeSlice(v.Type(), min(v.Len(), limit), min(v.Len(), limit))
		reflect.Copy(own, v)
		v.Set(own)
		for i := range v.Len() {
			clean(v.Index(i), limit)
		}
	case reflect.Map:
		cleanMap(v, limit)
	}
}

// cleanMap makes the map anew: its texts cannot be changed in place.
func cleanMap(v reflect.Value, limit int) {
	if v.IsNil() || v.Type().Key().Kind() != reflect.String {
		return
	}
	out := reflect.MakeMap(v.Type())
	for it := v.MapRange(); it.Next() && out.Len() < limit; {
		k := reflect.New(v.Type().Key()).Elem()
		k.SetString(text(it.Key().String(), maxName))
		e := reflect.New(v.Type().Elem()).Elem()
		e.Set(it.Value())
		clean(e, limit)
		out.SetMapIndex(k, e)
	}
	v.Set(out)
}

// sample cleans a measurement.
func sample(s *inventory.Sample) *inventory.Sample {
	clean(reflect.ValueOf(&s).Elem(), maxList)
	return s
}

// shards cleans what an agent says of its shards, by the address its node is
// known to have.
func (h *Hub) shards(node inventory.NodeID, peer netip.Addr, list []inventory.ShardStatus) []inventory.ShardStatus {
	return h.shardsOf(nil, node, peer, list)
}

// shardsOf does so by facts that came along with them.
func (h *Hub) shardsOf(f *inventory.Facts, node inventory.NodeID, peer netip.Addr, list []inventory.ShardStatus) []inventory.ShardStatus {
	mgmt := ""
	if f != nil {
		mgmt = f.MgmtAddr
	} else if n := h.cfg.Registry.Snapshot().Node(node); n != nil {
		mgmt = n.Facts.MgmtAddr
	}
	if len(list) > maxShards {
		list = list[:maxShards]
	}
	out := make([]inventory.ShardStatus, 0, len(list))
	for _, s := range list {
		if !known(s.State) || s.ID == "" || len(s.ID) > maxName {
			continue // a newer agent's word, or nobody's
		}
		clean(reflect.ValueOf(&s).Elem(), maxLines)
		if !reachable(s.Address, mgmt, peer) {
			s.Address = ""
		}
		out = append(out, s)
	}
	return out
}

// known reports whether a state is one that an agent may report: lost is the
// control plane's own word.
func known(s inventory.ShardState) bool {
	switch s {
	case inventory.ShardPending, inventory.ShardFetching, inventory.ShardStarting, inventory.ShardReady,
		inventory.ShardDraining, inventory.ShardStopped, inventory.ShardFailed:
		return true
	}
	return false
}
