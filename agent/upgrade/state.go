package upgrade

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"llmgw.io/llmgw/internal/durable"
	"llmgw.io/llmgw/internal/release"
	"llmgw.io/llmgw/inventory"
)

const (
	programName = "llmgw-agent"
	stateName   = "state.json"
	linkName    = "current"
	lockName    = "lock"
)

// Folder is where the versions of an agent with this data folder are.
func Folder(dataDir string) string { return filepath.Join(dataDir, "versions") }

// state is the last upgrade, as versions/state.json keeps it. It is read by the
// versions before and after it, so fields are added, and none changes its meaning.
type state struct {
	Phase inventory.UpgradeState `json:"phase"` // trial, done or failed
	From  string                 `json:"from"`
	To    string                 `json:"to"`
	// Back is the folder of the version before. Empty: the installed program.
	Back string `json:"back,omitempty"`
	// Installed is the program that was installed on the machine then. Another one
	// was installed later, and is right.
	Installed installed `json:"installed"`
	// Deadline ends the trial, Within is how long one may take in all.
	Deadline time.Time     `json:"deadline,omitzero"`
	Within   time.Duration `json:"within,omitempty"`
	// Attempts are starts of To on trial, of which there may be Most.
	Attempts int       `json:"attempts,omitempty"`
	Most     int       `json:"most,omitempty"`
	Error    string    `json:"error,omitempty"`
	Since    time.Time `json:"since"`
}

// installed tells one installed program from another.
type installed struct {
	Path    string    `json:"path"`
	Bytes   int64     `json:"bytes"`
	ModTime time.Time `json:"mod_time"`
}

func (i installed) equal(o installed) bool {
	return i.Path == o.Path && i.Bytes == o.Bytes && i.ModTime.Equal(o.ModTime)
}

func identify(path string) installed {
	info, err := os.Stat(path)
	if err != nil {
		return installed{Path: path}
	}
	return installed{Path: path, Bytes: info.Size(), ModTime: info.ModTime()}
}

// readState gives nil where nothing is written down. What cannot be read, or
// names what is no version, is an error: paths are made of it.
func readState(dir string) (*state, error) {
	var s state
	there, err := durable.ReadJSON(filepath.Join(dir, stateName), &s)
	if err != nil || !there {
		return nil, err
	}
	err = release.CheckTag(s.To)
	if s.Back != "" {
		err = errors.Join(err, release.CheckTag(s.Back))
	}
	if err != nil {
		return nil, err
	}
	return &s, nil
}

func (s *state) write(dir string) error { return durable.WriteJSON(filepath.Join(dir, stateName), s) }

// target is the folder of the version that is to run. Empty: the installed
// program.
func (s *state) target() string {
	if s.Phase == inventory.UpgradeFailed {
		return s.Back
	}
	return s.To
}

// program is where the version of a folder is; for none, where the installed one
// was.
func (s *state) program(dir, folder string) string {
	if folder == "" {
		return s.Installed.Path
	}
	return filepath.Join(dir, folder, programName)
}

// left is how much of a trial is left. A clock that was set does not make it
// longer.
func (s *state) left(now time.Time) time.Duration { return min(s.Deadline.Sub(now), s.Within) }

// fail ends a trial.
func (s *state) fail(why string, now time.Time) {
	s.Phase, s.Error, s.Since = inventory.UpgradeFailed, why, now.UTC().Truncate(time.Second)
}

func (s *state) status() *inventory.Upgrade {
	u := &inventory.Upgrade{From: s.From, To: s.To, State: s.Phase, Since: s.Since}
	if s.Phase == inventory.UpgradeFailed {
		u.Error = s.Error
	}
	return u
}

// link makes current name a folder of a version, or nothing.
func link(dir, folder string) error {
	at := filepath.Join(dir, linkName)
	if now, err := os.Readlink(at); folder != "" && err == nil && now == folder {
		return nil
	}
	if folder == "" {
		if err := os.Remove(at); err != nil && !os.IsNotExist(err) {
			return err
		}
		return durable.SyncDir(dir)
	}
	fresh := filepath.Join(dir, ".new-"+linkName)
	if err := os.Remove(fresh); err != nil && !os.IsNotExist(err) {
		return err
	}
	if err := os.Symlink(folder, fresh); err != nil {
		return err
	}
	if err := os.Rename(fresh, at); err != nil {
		return err
	}
	return durable.SyncDir(dir)
}
