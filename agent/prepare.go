package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"llmgw.io/llmgw/agent/process"
	"llmgw.io/llmgw/agent/protocol"
)

// prepare makes the engine's folder and the files in it, its user's own, and sees
// to it that the user gets to what it is started with. Nothing of the user's runs,
// which is how it was chosen.
func (s *shard) prepare(cmd protocol.Command, at protocol.Launch, u process.User) error {
	if err := s.makeFolder(u); err != nil {
		return folderFailure(err, s.dir())
	}
	if err := s.writeFiles(cmd.Files, u); err != nil {
		return err
	}
	if !u.Own() {
		return nil
	}
	files := at.Weights
	for _, ad := range at.Adapters {
		files = append(files[:len(files):len(files)], ad.Path)
	}
	for _, file := range files {
		if err := s.a.openWeights(file); err != nil {
			return failed(protocol.CauseFile, fmt.Sprintf("the weights cannot be opened to the engine's user: %v", err))
		}
		if err := process.Reaches(u, file, process.NeedRead); err != nil {
			return closedTo(u, protocol.CauseFile, err)
		}
	}
	if err := process.Reaches(u, cmd.Path, process.NeedExecute); err != nil && !errors.Is(err, os.ErrNotExist) {
		return closedTo(u, protocol.CauseEngine, err)
	}
	return nil
}

func closedTo(u process.User, cause protocol.Cause, err error) error {
	return failed(cause, fmt.Sprintf("user %d, whom the engine runs as, cannot use %v; open it to other users (chmod o+rX), keep it elsewhere, or set isolation: none", u.UID, err))
}

// makeFolder makes the shard's folder, through which only its own engine gets, and
// the engine's below it. One that another user had is removed.
func (s *shard) makeFolder(u process.User) error {
	if err := os.MkdirAll(s.dir(), 0o700); err != nil {
		return err
	}
	dir := s.workDir(u.UID)
	old, err := filepath.Glob(s.workDir(0) + "*")
	if err != nil {
		return err
	}
	for _, other := range old {
		if other != dir {
			if err := os.RemoveAll(other); err != nil {
				return err
			}
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if !u.Own() {
		return nil
	}
	return errors.Join(os.Lchown(dir, u.UID, u.GID), os.Chown(s.dir(), 0, u.GID), os.Chmod(s.dir(), 0o710))
}

// writeFiles writes what an engine wants to find in its folder. The folder is the
// engine's, so nothing in it is followed anywhere else.
func (s *shard) writeFiles(files map[string]string, u process.User) error {
	root, err := os.OpenRoot(s.workDir(u.UID))
	if err != nil {
		return folderFailure(err, s.dir())
	}
	defer func() { _ = root.Close() }()
	for name, content := range files {
		if !filepath.IsLocal(name) {
			return failed(protocol.CauseRejected, fmt.Sprintf("the engine wants to write a file %q outside of its folder", clip(name)))
		}
		if err := writeFile(root, name, content, u); err != nil {
			return folderFailure(err, s.dir())
		}
	}
	return nil
}

func writeFile(root *os.Root, name, content string, u process.User) error {
	own := func(path string) error {
		if !u.Own() {
			return nil
		}
		return root.Lchown(path, u.UID, u.GID)
	}
	if dir := filepath.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		for ; dir != "."; dir = filepath.Dir(dir) {
			if err := own(dir); err != nil {
				return err
			}
		}
	}
	if err := root.RemoveAll(name); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	return errors.Join(err, f.Close(), own(name))
}
