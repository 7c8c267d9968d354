package reconciler

import (
	"strconv"
	"strings"

	"llmgw.io/llmgw/catalog"
)

// maxSlug keeps ids short enough for folders, units and process groups.
const maxSlug = 40

// replicaID makes an id from what is known, so that the same step on the same
// world makes the same ids.
func replicaID(model catalog.Name, number int64) ReplicaID {
	return ReplicaID(slug(model) + "-" + strconv.FormatInt(number, 10))
}

func shardID(r ReplicaID, rank int) ShardID {
	return ShardID(string(r) + "." + strconv.Itoa(rank))
}

// number is what follows the last dash; -1 when that is no number.
func (r ReplicaID) number() int64 {
	n, err := strconv.ParseInt(string(r[strings.LastIndexByte(string(r), '-')+1:]), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// slug is a model's name in lower-case letters, digits and single dashes.
func slug(model catalog.Name) string {
	var b strings.Builder
	for _, c := range strings.ToLower(string(model)) {
		switch {
		case (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'):
			b.WriteRune(c)
		case b.Len() > 0 && b.String()[b.Len()-1] != '-':
			b.WriteByte('-')
		}
	}
	s := b.String()
	s = strings.Trim(s[:min(len(s), maxSlug)], "-")
	if s == "" {
		return "model"
	}
	return s
}
