package gpu

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"llmgw.io/llmgw/inventory"
)

// ClassOf is the class of a whole card: the product's word, a dash, and its
// memory in GB as its data sheet has it. It is the only place that makes one of
// what the driver says. memoryMB is what the driver says is there; zero leaves
// the number out.
func ClassOf(name string, memoryMB int64) inventory.Class {
	word := product(name)
	if memoryMB <= 0 {
		return inventory.Class(word)
	}
	return inventory.Class(word + "-" + strconv.FormatInt(sheetGB(memoryMB), 10))
}

var (
	// maker are words of the maker, not of the product.
	maker = map[string]bool{"nvidia": true, "tesla": true, "geforce": true, "quadro": true, "grid": true}
	// build is how a card is built or sold, which is not asked for.
	build = map[string]bool{
		"pcie": true, "nvl": true, "generation": true, "edition": true, "server": true, "workstation": true,
		"blackwell": true, "gpu": true, "ac": true, "max": true, "q": true,
	}
	// socket and memory are such words with numbers: SXM4, HBM3e, 80GB, 40C.
	socket = regexp.MustCompile(`(?i)^(sxm\d*|hbm\d\w*|\d+gb?|\d+[cq])$`)
	// foreign is what no class may hold.
	foreign = regexp.MustCompile(`[^A-Za-z0-9 -]+`)
)

// product is the word of a product: "NVIDIA GeForce RTX 4060 Ti" is RTX4060Ti,
// "NVIDIA A100-SXM4-80GB" is A100.
func product(name string) string {
	parts := strings.FieldsFunc(foreign.ReplaceAllString(name, " "), func(r rune) bool { return r == ' ' || r == '-' })
	var b strings.Builder
	for _, p := range parts {
		if l := strings.ToLower(p); !maker[l] && !build[l] && !socket.MatchString(p) {
			b.WriteString(p)
		}
	}
	if b.Len() == 0 {
		return "GPU"
	}
	return b.String()
}

// sheet are the sizes that data sheets have, in GB.
var sheet = []int64{
	1, 2, 3, 4, 5, 6, 8, 10, 11, 12, 16, 20, 24, 32, 40, 48, 64, 72, 80, 94, 96, 128, 141, 144, 180, 186, 192, 269, 279, 288,
}

// sheetGB is the size of the data sheet that is meant by so much memory: what
// the driver keeps for itself and for error correction is missing, up to 8 %.
// What fits no size is rounded.
func sheetGB(memoryMB int64) int64 {
	gb := float64(memoryMB) / 1024
	for _, s := range sheet {
		if f := float64(s); f >= gb*0.995 && gb >= f*0.92 {
			return s
		}
	}
	return max(1, int64(math.Round(gb)))
}

// named is the profile in the driver's name of an instance: "NVIDIA H100 80GB HBM3
// MIG 3g.40gb".
var named = regexp.MustCompile(`MIG ((?:\d+c\.)?\d+g\.\d+gb(?:[+-][a-z.]+)*)$`)

// profileOf is the profile of an instance: as the driver names it, or by its
// slices and its part of the card's memory. Empty: that is not known either.
func profileOf(name string, compute, slices uint32, memoryMB, cardMB int64) string {
	if m := named.FindStringSubmatch(name); m != nil {
		return m[1]
	}
	if slices == 0 || memoryMB <= 0 || cardMB <= 0 {
		return ""
	}
	part := math.Ceil(float64(memoryMB)/float64(cardMB)*8) / 8
	gb := math.Round(part * math.Ceil(float64(cardMB)/1024))
	profile := fmt.Sprintf("%dg.%dgb", slices, int64(gb))
	if compute > 0 && compute < slices {
		profile = fmt.Sprintf("%dc.%s", compute, profile)
	}
	return profile
}
