package provision

import (
	"io/fs"
	"os"
	"path/filepath"
)

// readable lets everybody read a build and run its programs: engines are users of
// their own, and the agent's umask closes what it makes. The folders above, up to
// top, are opened too. Links are left alone.
func readable(folder, top string) error {
	for dir := filepath.Dir(folder); ; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			return err
		}
		if dir == top || len(dir) <= len(top) {
			break
		}
	}
	return filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch info, err := d.Info(); {
		case err != nil:
			return err
		case d.IsDir():
			return os.Chmod(path, 0o755)
		case !info.Mode().IsRegular():
			return nil
		case info.Mode()&0o100 != 0:
			return os.Chmod(path, 0o755)
		default:
			return os.Chmod(path, 0o644)
		}
	})
}
