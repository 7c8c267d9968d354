package fix

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// whyNot says why there is no fix, for each profile that was asked for.
func (s *search) whyNot() string {
	var out []string
	for _, l := range s.looked {
		out = append(out, fmt.Sprintf("%s: %s", l.profile.Name, l.whyNot()))
	}
	if len(out) == 0 {
		return "The model has no profile that is placed here."
	}
	return "No small change makes room. As " + strings.Join(out, " As ")
}

func (l *looking) whyNot() string {
	shards := l.profile.ShardCount()
	if len(l.members) == 0 {
		return "there is no node; join one first."
	}
	switch most := l.largest(); {
	case most == 0:
		return fmt.Sprintf("%d nodes of %s are needed, and no node says that it is on such; declare what the nodes share, or use a profile that fits on one node.", shards, l.ask.Sharing())
	case most < shards:
		return fmt.Sprintf("%d nodes of %s are needed, and none has more than %d; use a profile that fits on fewer.", shards, l.ask.Sharing(), most)
	}
	reason, count := placement.Reason(""), 0
	for _, r := range append(placement.Reasons(), slices.Sorted(maps.Keys(l.counts))...) { // an embedder's own come last
		n := l.counts[r]
		if r == "" || n == 0 {
			continue
		}
		if nearer := otherKind(reason) && !otherKind(r); count == 0 || nearer || n > count && otherKind(reason) == otherKind(r) {
			reason, count = r, n
		}
	}
	text, advice := reason.Text(), reason.Advice()
	switch {
	case reason == placement.Spread && l.nowhere():
		level := l.profile.Spread.Level
		text, advice = "it does not say its "+string(level), "label it "+inventory.LabelPrefix+string(level)
	case load(reason) && l.used(reason):
		advice = "what runs there is of a higher class or the model's own, or to stop it is not enough; add nodes"
	}
	return fmt.Sprintf("of %s %d say: %s; %s.%s", counted(len(l.members)), count, text, advice, l.behind(reason))
}

// behind says what a node would still say if the reason were mended there: what
// is advised alone is not enough, or it would be the fix.
func (l *looking) behind(reason placement.Reason) string {
	for i := range l.members {
		m := &l.members[i]
		if m.reason != reason {
			continue
		}
		for _, c := range l.mends(m.node, reason, l.done) {
			if next := l.asked(c.on(m.node)); next != "" && next != reason {
				return fmt.Sprintf(" After that %s would still say: %s.", m.node.ID, next.Text())
			}
		}
		return ""
	}
	return ""
}

// otherKind reports whether a reason says that a node is of another kind than the
// profile asks for. Most nodes of a mixed fleet are; about what the rest say people
// can do something.
func otherKind(reason placement.Reason) bool {
	return slices.Contains([]placement.Reason{
		placement.Pool, placement.Labels, placement.DeviceClass, placement.NoDevices, placement.MIGGroup, placement.ComputeCapability,
	}, reason)
}

// nowhere reports whether no node says the domain that the profile bounds.
func (l *looking) nowhere() bool {
	return !slices.ContainsFunc(l.members, func(m member) bool {
		return m.reason == placement.Spread && m.node.Domain(l.profile.Spread.Level) != ""
	})
}

// used reports whether anything runs on a node that gives a reason.
func (l *looking) used(reason placement.Reason) bool {
	return slices.ContainsFunc(l.members, func(m member) bool { return m.reason == reason && len(m.node.Allocations) > 0 })
}

// counted counts nodes in words.
func counted(n int) string {
	if n == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", n)
}
