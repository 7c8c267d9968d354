package placement

import (
	"fmt"

	"llmgw.io/llmgw/inventory"
)

func bySpread(q *query) refusal {
	s := q.profile.Spread
	if s == nil || s.MaxPerDomain == 0 {
		return refusal{}
	}
	has, known := q.stands.at(q.at, s.Level)
	if !known {
		return refusal{reason: Spread, say: func(q *query, _ refusal) string {
			level := q.profile.Spread.Level
			return fmt.Sprintf("does not say its %s, which the profile bounds; label it %s%s", level, inventory.LabelPrefix, level)
		}}
	}
	if int(has) < s.MaxPerDomain {
		return refusal{}
	}
	return refusal{reason: Spread, need: int64(s.MaxPerDomain), have: int64(has), unit: "replicas", say: func(q *query, r refusal) string {
		level := q.profile.Spread.Level
		return fmt.Sprintf("%s %s has %d of the model's replicas, at most %d may stand there", level, q.h.node.Domain(level), r.have, r.need)
	}}
}
