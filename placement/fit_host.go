package placement

import (
	"fmt"

	"llmgw.io/llmgw/inventory"
)

func byHostMemory(q *query, n *inventory.Node) refusal {
	want := q.need.memoryMB
	free, known := n.FreeMemoryMB()
	if want == 0 || !known || want <= free {
		return refusal{}
	}
	kept, _ := n.SystemReserve()
	r := refusal{reason: HostMemory, need: want, have: max(0, free), unit: "MiB", say: sayHostMemory}
	if want <= free+kept {
		r.reason = Reserve
	}
	return r
}

func sayHostMemory(_ *query, n *inventory.Node, r refusal) string {
	text := fmt.Sprintf("needs %s of memory, %s free", gib(r.need), gib(r.have))
	if r.reason == Reserve {
		kept, _ := n.SystemReserve()
		text += fmt.Sprintf(" beside the %s kept for its system", gib(kept))
	}
	return text
}

func byCores(q *query, n *inventory.Node) refusal {
	want := q.need.cores
	free, known := n.FreeCores()
	if want == 0 || !known || want <= free {
		return refusal{}
	}
	_, kept := n.SystemReserve()
	r := refusal{reason: Cores, need: int64(want), have: int64(max(0, free)), unit: "cores", say: sayCores}
	if want <= free+kept {
		r.reason = Reserve
	}
	return r
}

func sayCores(_ *query, n *inventory.Node, r refusal) string {
	text := fmt.Sprintf("needs %d cores, %d free", r.need, r.have)
	if r.reason == Reserve {
		_, kept := n.SystemReserve()
		text += fmt.Sprintf(" beside the %d kept for its system", kept)
	}
	return text
}

func byDisk(q *query, n *inventory.Node) refusal {
	want := q.diskMB(n)
	free, known := n.FreeDiskMB()
	if want == 0 || !known || want <= free {
		return refusal{}
	}
	return refusal{reason: Disk, need: want, have: max(0, free), unit: "MiB", say: func(q *query, n *inventory.Node, r refusal) string {
		text := fmt.Sprintf("needs %s of disk, %s free", gib(r.need), gib(r.have))
		if missing := mib(q.weights.missing(n)); missing > 0 {
			text += fmt.Sprintf("; %s of weights are not there yet", gib(missing))
		}
		return text
	}}
}

// diskMB is the disk to promise on a node: for the weights that it lacks and
// for what the profile writes beside them.
func (q *query) diskMB(n *inventory.Node) int64 {
	return q.need.diskMB + mib(q.weights.missing(n))
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
