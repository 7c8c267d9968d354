package placement

import "fmt"

func byHostMemory(q *query) refusal {
	want := q.need.memoryMB
	free, known := q.h.memory.free, q.h.memory.known
	if want == 0 || !known || want <= free {
		return refusal{}
	}
	r := refusal{reason: HostMemory, need: want, have: max(0, free), unit: "MiB", say: sayHostMemory}
	if want <= free+q.h.keptMB {
		r.reason = Reserve
	}
	return r
}

func sayHostMemory(q *query, r refusal) string {
	text := fmt.Sprintf("needs %s of memory, %s free", gib(r.need), gib(r.have))
	if r.reason == Reserve {
		text += fmt.Sprintf(" beside the %s kept for its system", gib(q.h.keptMB))
	}
	return text
}

func byCores(q *query) refusal {
	want := int64(q.need.cores)
	free, known := q.h.cores.free, q.h.cores.known
	if want == 0 || !known || want <= free {
		return refusal{}
	}
	r := refusal{reason: Cores, need: want, have: max(0, free), unit: "cores", say: sayCores}
	if want <= free+int64(q.h.keptCores) {
		r.reason = Reserve
	}
	return r
}

func sayCores(q *query, r refusal) string {
	text := fmt.Sprintf("needs %d cores, %d free", r.need, r.have)
	if r.reason == Reserve {
		text += fmt.Sprintf(" beside the %d kept for its system", q.h.keptCores)
	}
	return text
}

func byDisk(q *query) refusal {
	want := q.diskMB()
	free, known := q.h.disk.free, q.h.disk.known
	if want == 0 || !known || want <= free {
		return refusal{}
	}
	return refusal{reason: Disk, need: want, have: max(0, free), unit: "MiB", say: func(q *query, r refusal) string {
		text := fmt.Sprintf("needs %s of disk, %s free", gib(r.need), gib(r.have))
		if missing := mib(q.lacks()); missing > 0 {
			text += fmt.Sprintf("; %s of weights are not there yet", gib(missing))
		}
		return text
	}}
}

// diskMB is the disk to promise on a node: for the weights that it lacks and
// for what the profile writes beside them.
func (q *query) diskMB() int64 {
	return q.need.diskMB + mib(q.lacks())
}

// mib rounds bytes up to MiB.
func mib(bytes int64) int64 { return (bytes + 1<<20 - 1) >> 20 }

// gib writes MiB for people.
func gib(mb int64) string {
	switch {
	case mb%1024 == 0:
		return fmt.Sprintf("%d GiB", mb/1024)
	case mb < 1024:
		return fmt.Sprintf("%d MiB", mb)
	}
	return fmt.Sprintf("%.1f GiB", float64(mb)/1024)
}
