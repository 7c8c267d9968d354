package gpu

import (
	"context"
	"errors"
	"time"
)

// Source reads the driver once.
type Source interface {
	// Snapshot blocks until the driver has answered or was given up. An error
	// that matches [ErrNoDriver] means that the machine has nothing to read.
	Snapshot(ctx context.Context) (Snapshot, error)
}

// ErrNoDriver says that no driver's library is installed, or that this build
// cannot use one.
var ErrNoDriver = errors.New("gpu: no driver's library")

// Snapshot is what the driver said at one moment. What it did not say is left
// out: absent is never zero.
type Snapshot struct {
	At time.Time `json:"at"`
	// Driver is its version, CUDA the newest CUDA that it serves ("13.0").
	Driver string `json:"driver,omitempty"`
	CUDA   string `json:"cuda,omitempty"`
	Cards  []Card `json:"cards"`
	// Notes are about what could not be asked.
	Notes []string `json:"notes,omitempty"`
}

// Card is one whole GPU as the driver has it.
type Card struct {
	// Index is the driver's number. It moves when another card is lost.
	Index int    `json:"index"`
	UUID  string `json:"uuid,omitempty"`
	Name  string `json:"name,omitempty"`
	// PCI is the address as sysfs writes it ("0000:18:00.0").
	PCI string `json:"pci,omitempty"`
	// Lost says in the driver's words that it does not reach the card. Nothing
	// else is known of it then.
	Lost string `json:"lost,omitempty"`
	// MemoryMB is all of its memory in MiB. Zero: not said.
	MemoryMB int64 `json:"memory_mb,omitempty"`
	// HostMemory says that it has no memory of its own, and uses the machine's.
	HostMemory bool `json:"host_memory,omitempty"`
	// Capability reads like "9.0".
	Capability string `json:"capability,omitempty"`
	MIG        *MIG   `json:"mig,omitempty"` // nil: it cannot be partitioned
	// Linked are the indexes of cards that it reaches over NVLink.
	Linked []int `json:"linked,omitempty"`
	// LinksUp are its NVLinks that work; nil when it has none.
	LinksUp *int      `json:"links_up,omitempty"`
	Fabric  *Fabric   `json:"fabric,omitempty"`
	State   State     `json:"state"`
	Sensors Sensors   `json:"sensors"`
	Process []Process `json:"process,omitempty"`
}

// MIG is how a card is partitioned.
type MIG struct {
	// On says that it is, Pending that a reset will change that.
	On        bool       `json:"on"`
	Pending   bool       `json:"pending,omitempty"`
	Instances []Instance `json:"instances,omitempty"`
}

// Instance is one part of a partitioned card, as a device of its own.
type Instance struct {
	// Index is its number on the card, as nvidia-smi -L prints it. Numbers may be
	// left out, and move when instances are made anew.
	Index   int    `json:"index"`
	UUID    string `json:"uuid,omitempty"`
	Profile string `json:"profile,omitempty"`
	// MemoryMB is its own, not the card's.
	MemoryMB int64     `json:"memory_mb,omitempty"`
	UsedMB   *int64    `json:"used_mb,omitempty"`
	Process  []Process `json:"process,omitempty"`
}

// State is what a card says about how it does. Nil: it does not say.
type State struct {
	// Recovery is what the driver wants done: see recoveries.
	Recovery *int `json:"recovery,omitempty"`
	// Uncorrected counts memory errors since the last reset that were not mended.
	Uncorrected *int64 `json:"uncorrected,omitempty"`
	// SRAMWorn says that the errors of its caches passed the maker's threshold.
	SRAMWorn *bool `json:"sram_worn,omitempty"`
	// RemapPending and RemapFailed are of rows of memory that are replaced.
	RemapPending *bool `json:"remap_pending,omitempty"`
	RemapFailed  *bool `json:"remap_failed,omitempty"`
	// RetirePending is the same of pages, on cards before Ampere.
	RetirePending *bool `json:"retire_pending,omitempty"`
	// Width and MaxWidth are the lanes to the bus, now and at best.
	Width    *int `json:"width,omitempty"`
	MaxWidth *int `json:"max_width,omitempty"`
	// Slowed are the driver's reasons for a lower clock, as bits.
	Slowed *uint64 `json:"slowed,omitempty"`
	// Energy is what was used since the driver last began with the card, in mJ. It
	// only falls when the card was reset.
	Energy *int64 `json:"energy,omitempty"`
}

// Sensors are measurements of a whole card. Nil: it does not measure.
type Sensors struct {
	TempC       *float64 `json:"temp_c,omitempty"`
	PowerW      *float64 `json:"power_w,omitempty"`
	UtilPercent *float64 `json:"util_percent,omitempty"`
	UsedMB      *int64   `json:"used_mb,omitempty"`
}

// Process is one that has memory of a device.
type Process struct {
	PID    int   `json:"pid"`
	UsedMB int64 `json:"used_mb"`
}
