//go:build !linux

package process

import (
	"errors"
	"net/netip"
	"time"
)

// errLinux is why nothing is started elsewhere: a tree of processes could not
// be ended for certain.
var errLinux = errors.New("engines are started on Linux only; run the agent there, or declare an engine that runs elsewhere as a static endpoint")

// Start starts nothing here.
func Start(Launch) (*Process, error) { return nil, errLinux }

// Adopt finds nothing here.
func Adopt(Tree, time.Duration) (*Process, bool) { return nil, false }

// KillStrays finds nothing here.
func KillStrays(string, map[string]bool) int { return 0 }

// BootID is not known here.
func BootID() string { return "unknown" }

// Foreign knows of nothing here.
func Foreign(int) bool { return false }

// FindCgroups finds none here.
func FindCgroups(string) Cgroups { return Cgroups{} }

// CanSwitch says that it cannot here.
func CanSwitch(int, int) error { return errLinux }

// DeviceGroups are none here.
func DeviceGroups() []int { return nil }

// UserBusy knows of nobody here.
func UserBusy(int) bool { return false }

// Reaches asks nobody here.
func Reaches(User, string, Needs) error { return nil }

// SweepFiles removes nothing here.
func SweepFiles(User) {}

// Listens knows nothing of sockets here.
func (p *Process) Listens(netip.AddrPort) (ours, held bool) { return false, false }

func (p *Process) ask(bool) {}

func (t Tree) kill(bool) error { return nil }

func (t Tree) use() (bytes int64, ticks uint64) { return 0, 0 }
