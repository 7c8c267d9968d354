package process

// Foreign says that a process runs that no agent started as a shard, nor any
// process of a shard. One that is not visible is not known to be foreign: its
// number may be another namespace's.
func Foreign(pid int) bool {
	seen := false
	for range 32 {
		if pid <= 1 {
			return seen
		}
		s, err := readStat(pid)
		if err != nil {
			return seen
		}
		if markOf(pid) != "" {
			return false
		}
		seen, pid = true, s.parent
	}
	return seen
}
