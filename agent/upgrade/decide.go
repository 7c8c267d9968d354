package upgrade

import (
	"os"
	"path/filepath"
	"strconv"

	"llmgw.io/llmgw/internal/release"
	"llmgw.io/llmgw/inventory"
)

// guardVariable has the number of the process that guards this one, in the
// environment of a version on trial.
const guardVariable = "LLMGW_AGENT_GUARD"

// place is what a process is.
type place struct {
	// path is its program. folder is the version's that it is of; empty: it is an
	// installed program, which have tells from others.
	path, folder string
	have         installed
	guarded      bool
}

// here is what this process is.
func here(dir string) (place, error) {
	self, err := os.Executable()
	if err != nil {
		return place{}, err
	}
	p := place{path: real(self), guarded: os.Getenv(guardVariable) == strconv.Itoa(os.Getppid())}
	if in, name := filepath.Split(p.path); name == programName {
		if folder := filepath.Base(in); filepath.Join(real(dir), folder) == filepath.Clean(in) && release.CheckTag(folder) == nil {
			p.folder = folder
			return p, nil
		}
	}
	p.have = identify(p.path)
	return p, nil
}

// real is a path without links; what cannot be followed stays as it is.
func real(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	return path
}

// act is what a process is to do.
type act int

const (
	beAgent act = iota
	beGuard
	become // the version of a folder
)

// decide says what a process is to do by what is written down. Nil: nothing is.
func decide(s *state, me place) (what act, folder string) {
	switch {
	case s == nil, me.folder == "" && !me.have.equal(s.Installed):
		return beAgent, "" // nothing was upgraded, or another program was installed since
	case s.Phase == inventory.UpgradeTrial && me.folder == s.To && me.guarded:
		return beAgent, ""
	case s.Phase == inventory.UpgradeTrial && me.folder == s.Back:
		return beGuard, ""
	case s.Phase == inventory.UpgradeTrial:
		return become, s.Back
	case me.folder == s.target():
		return beAgent, ""
	}
	return become, s.target()
}
