package catalog

import (
	"slices"
	"strings"
)

// Adapter is a LoRA adapter over the model's weights; clients address it as a
// model of its name.
type Adapter struct {
	Name   Name   `json:"name"`
	Source string `json:"source"`
}

// RoomForAdapters reports whether an engine that was started with so many adapters
// and these arguments takes others while it runs. vLLM does once it was started
// with room for some: it had one, or its arguments say how many there may be.
func RoomForAdapters(e Engine, args []string, adapters int) bool {
	return e == EngineVLLM && (adapters > 0 || slices.ContainsFunc(args, func(a string) bool {
		flag, _, _ := strings.Cut(strings.ReplaceAll(a, "_", "-"), "=")
		return flag == "--max-loras" || flag == "--max-cpu-loras" || flag == "--max-lora-rank"
	}))
}
