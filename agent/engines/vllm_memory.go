package engines

import (
	"fmt"
	"strconv"

	"llmgw.io/llmgw/agent/protocol"
)

const (
	// vllmBesideMB is what vLLM takes of a device beside weights and contexts: the
	// peak of its work, its graphs, and the CUDA context.
	vllmBesideMB = 2560
	// vllmLeastKVMB is the least room for contexts with which it is worth a start.
	vllmLeastKVMB = 256
)

// shared reports whether a shard has only a part of a device.
func shared(d protocol.DesiredShard) bool {
	for _, s := range d.Devices {
		if s.MemoryMB > 0 {
			return true
		}
	}
	return false
}

// vllmMemory bounds what vLLM takes of a device. Of a whole card it takes its own
// share. Of a card that others share it takes what is reserved. On an instance of a
// partitioned card it would reckon with the memory of the whole card, so that it is
// told how much there is for contexts.
func vllmMemory(d protocol.DesiredShard, at protocol.Launch) ([]string, error) {
	if len(d.Devices) == 0 {
		return nil, nil
	}
	share := d.Devices[0]
	dev, _ := deviceAt(at, share)
	switch {
	case share.MemoryMB > 0:
		if dev.MemoryMB <= 0 {
			return nil, fmt.Errorf("%s: the node does not say how much memory device %d has, so that no part of it can be given to vLLM; look at the node's facts", about(d), share.Index)
		}
		// Rounded down: the next replica has the rest.
		thousandths := min(share.MemoryMB*1000/dev.MemoryMB, 1000)
		return []string{"--gpu-memory-utilization", strconv.FormatFloat(float64(thousandths)/1000, 'f', 3, 64)}, nil
	case !dev.MIG(), given(d.Args, "--kv-cache-memory-bytes"), lacks(at.Build.Version, vllmKVBytes):
		return nil, nil
	}
	if dev.MemoryMB <= 0 || at.WeightsBytes <= 0 {
		return nil, fmt.Errorf("%s: how much room instance %s has for contexts is not known; give --kv-cache-memory-bytes in the profile's args", about(d), dev.Label)
	}
	room := dev.MemoryMB - at.WeightsBytes>>20 - vllmBesideMB
	if room < vllmLeastKVMB {
		return nil, fmt.Errorf("%s: instance %s has %d MiB, the weights take %d and vLLM itself %d, which leaves too little for contexts; use a larger instance or a smaller model",
			about(d), dev.Label, dev.MemoryMB, at.WeightsBytes>>20, vllmBesideMB)
	}
	return []string{"--kv-cache-memory-bytes", strconv.FormatInt(room<<20, 10)}, nil
}
