package placement_test

import (
	"fmt"
	"testing"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// thousand is a mixed fleet of 1,000 nodes, a part of it in use.
func thousand(b *testing.B) *inventory.Snapshot {
	b.Helper()
	lines := make([]string, 1000)
	for i := range lines {
		kind := []string{
			"gpu=8xH100-80 nvlink=0-7 mem=2048 cpu=192 engines=vllm:cu129",
			"gpu=4xL40S-48 mem=512 cpu=64 engines=vllm:cu129",
			"mem=256 cpu=64 engines=llamacpp:cpu",
			fmt.Sprintf("gpu=8xH100-80 nvlink=0-7 mem=2048 cpu=192 engines=vllm:cu129 alloc=x-%d.0:x:0-%d:mem=100", i, i%8),
		}[i%4]
		lines[i] = fmt.Sprintf("n%04d rack=r%02d %s", i, i/20, kind)
	}
	return parse(b, lines...)
}

func BenchmarkChoose(b *testing.B) {
	fleet := thousand(b)
	for _, count := range []int{1, 4, 8} {
		b.Run(fmt.Sprintf("devices=%d", count), func(b *testing.B) {
			req := placement.Request{Model: onDevices(count, "H100-80")}
			b.ReportAllocs()
			for b.Loop() {
				placement.Placer{}.Choose(fleet, req, nil)
			}
		})
	}
}

func BenchmarkHeadroom(b *testing.B) {
	fleet := thousand(b)
	req := placement.Request{Model: onDevices(8, "H100-80")}
	for b.Loop() {
		placement.Placer{}.Headroom(fleet, req, 16)
	}
}

// tenThousand is the same fleet, larger.
func tenThousand(b *testing.B) *placement.Index {
	b.Helper()
	lines := make([]string, 10_000)
	for i := range lines {
		lines[i] = fmt.Sprintf("n%05d rack=r%03d %s", i, i/20, []string{
			"gpu=8xH100-80 nvlink=0-7 mem=2048 cpu=192 engines=vllm:cu129 fabric=ib" + fmt.Sprint(i/64),
			"gpu=4xL40S-48 mem=512 cpu=64 engines=vllm:cu129", "mem=256 cpu=64 engines=llamacpp:cpu",
			fmt.Sprintf("gpu=8xH100-80 nvlink=0-7 mem=2048 cpu=192 engines=vllm:cu129 alloc=x-%d.0:x:0-%d:mem=100", i, i%8),
		}[i%4])
	}
	index := placement.NewIndex(placement.Placer{})
	index.Advance(parse(b, lines...))
	return index
}

func BenchmarkIndexChoose(b *testing.B) {
	index := tenThousand(b)
	for _, count := range []int{1, 4, 8, 16} {
		b.Run(fmt.Sprintf("devices=%d", count), func(b *testing.B) {
			m := onDevices(count, "H100-80")
			m.Name = catalog.Name(fmt.Sprint("m", count))
			b.ReportAllocs()
			for b.Loop() {
				index.Try(func() {
					if d, _ := index.Choose(placement.Request{Model: m}); d.Placed {
						index.With(d.Candidate.Allocations(string(m.Name), "r")...)
					}
				})
			}
		})
	}
}

func BenchmarkIndexHeadroom(b *testing.B) {
	index := tenThousand(b)
	req := placement.Request{Model: onDevices(8, "H100-80")}
	b.ReportAllocs()
	for b.Loop() {
		index.Headroom(req, 64)
	}
}

func BenchmarkIndexExplain(b *testing.B) {
	index := tenThousand(b)
	for _, count := range []int{4, 16} {
		b.Run(fmt.Sprintf("devices=%d", count), func(b *testing.B) {
			req := placement.Request{Model: onDevices(count, "H100-80")}
			for b.Loop() {
				index.Explain(req)
			}
		})
	}
}
