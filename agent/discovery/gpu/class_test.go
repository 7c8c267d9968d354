package gpu

import (
	"testing"

	"llmgw.io/llmgw/inventory"
)

// Names and memories as drivers give them; classes by the data sheet.
func TestClassOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		mb   int64
		want inventory.Class
	}{
		{"Tesla P40", 22919, "P40-24"},
		{"Tesla P4", 7611, "P4-8"},
		{"Tesla V100-SXM2-32GB", 32510, "V100-32"},
		{"Tesla V100-PCIE-16GB", 16160, "V100-16"},
		{"Tesla T4", 15360, "T4-16"},
		{"NVIDIA A100-SXM4-40GB", 40960, "A100-40"},
		{"NVIDIA A100-SXM4-80GB", 81920, "A100-80"},
		{"NVIDIA A100 80GB PCIe", 81920, "A100-80"},
		{"NVIDIA A100-SXM-64GB", 65536, "A100-64"},
		{"NVIDIA A30", 24576, "A30-24"},
		{"NVIDIA A10", 23028, "A10-24"},
		{"NVIDIA A10G", 22731, "A10G-24"},
		{"NVIDIA A40", 46068, "A40-48"},
		{"NVIDIA A2", 15356, "A2-16"},
		{"NVIDIA RTX A6000", 49140, "RTXA6000-48"},
		{"NVIDIA GeForce RTX 2080 Ti", 11264, "RTX2080Ti-11"},
		{"NVIDIA GeForce RTX 3080", 10240, "RTX3080-10"},
		{"NVIDIA GeForce RTX 3090", 24576, "RTX3090-24"},
		{"NVIDIA GeForce RTX 4060 Ti", 16380, "RTX4060Ti-16"},
		{"NVIDIA GeForce RTX 4090", 24564, "RTX4090-24"},
		{"NVIDIA GeForce RTX 4090 Laptop GPU", 16376, "RTX4090Laptop-16"},
		{"NVIDIA GeForce RTX 5090", 32607, "RTX5090-32"},
		{"NVIDIA L4", 23034, "L4-24"},
		{"NVIDIA L40", 46068, "L40-48"},
		{"NVIDIA L40S", 46068, "L40S-48"},
		{"NVIDIA RTX 6000 Ada Generation", 49140, "RTX6000Ada-48"},
		{"NVIDIA RTX PRO 6000 Blackwell Server Edition", 97887, "RTXPRO6000-96"},
		{"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", 97887, "RTXPRO6000-96"},
		{"NVIDIA H100 PCIe", 81559, "H100-80"},
		{"NVIDIA H100 80GB HBM3", 81559, "H100-80"},
		{"NVIDIA H100 NVL", 95830, "H100-94"},
		{"NVIDIA H20", 97871, "H20-96"},
		{"NVIDIA H800", 81559, "H800-80"},
		{"NVIDIA H200", 143771, "H200-141"},
		{"NVIDIA H200 NVL", 143771, "H200-141"},
		{"NVIDIA GH200 480GB", 97871, "GH200-96"},
		{"NVIDIA GH200 144G HBM3e", 146831, "GH200-144"},
		{"NVIDIA B200", 183359, "B200-180"},
		{"NVIDIA GB200", 189471, "GB200-186"},
		{"NVIDIA B300 SXM6 AC", 275040, "B300-269"},
		{"NVIDIA GB300", 284208, "GB300-279"},
		{"NVIDIA GB10", 122570, "GB10-128"},
		{"NVIDIA A100-40C", 40960, "A100-40"},
		{"A card of its own", 86016, "Acardofitsown-84"},
		{"NVIDIA H100 80GB HBM3", 0, "H100"},
		{"", 8192, "GPU-8"},
		{"Ünïcode \x00; rm -rf", 8192, "ncodermrf-8"},
	} {
		if got := ClassOf(c.name, c.mb); got != c.want {
			t.Errorf("%q with %d MiB: want %s, got %s", c.name, c.mb, c.want, got)
		}
	}
}

// Instances of real cards: what the driver keeps of each slice is missing.
func TestProfileOfAnInstance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name            string
		compute, slices uint32
		mb, card        int64
		want            string
	}{
		{"NVIDIA H100 80GB HBM3 MIG 3g.40gb", 3, 3, 40448, 81559, "3g.40gb"},
		{"NVIDIA H100 80GB HBM3 MIG 1g.10gb+me", 1, 1, 9856, 81559, "1g.10gb+me"},
		{"NVIDIA H100 80GB HBM3 MIG 1c.3g.40gb", 1, 3, 40448, 81559, "1c.3g.40gb"},
		{"", 3, 3, 40192, 81920, "3g.40gb"},
		{"", 1, 3, 40192, 81920, "1c.3g.40gb"},
		{"", 1, 1, 19968, 81920, "1g.20gb"},
		{"", 7, 7, 80896, 81559, "7g.80gb"},
		{"", 3, 3, 19968, 40960, "3g.20gb"},
		{"", 1, 1, 17432, 143771, "1g.18gb"},
		{"", 2, 2, 35712, 143771, "2g.35gb"},
		{"", 3, 3, 71680, 143771, "3g.71gb"},
		{"", 1, 1, 11264, 95830, "1g.12gb"},
		{"", 3, 3, 47104, 95830, "3g.47gb"},
		{"", 1, 1, 22232, 183359, "1g.23gb"},
		{"", 3, 3, 88929, 183359, "3g.90gb"},
		{"", 1, 1, 5968, 24576, "1g.6gb"},
		{"", 2, 2, 12032, 24576, "2g.12gb"},
		{"", 3, 3, 40192, 0, ""},
		{"", 0, 0, 40192, 81920, ""},
	} {
		if got := profileOf(c.name, c.compute, c.slices, c.mb, c.card); got != c.want {
			t.Errorf("%q, %d of %d slices with %d of %d MiB: want %q, got %q", c.name, c.compute, c.slices, c.mb, c.card, c.want, got)
		}
	}
}
