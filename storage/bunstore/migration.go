package bunstore

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The migrations, a folder for each dialect. A file is never edited once it was
// released; a mend is a new file.
//
//go:embed migrations
var migrationFiles embed.FS

// Migration is one step of the schema.
type Migration struct {
	Version int
	Name    string
	// AppliedAt is zero for one that is still to come.
	AppliedAt time.Time

	up, down string
}

// loadMigrations reads a folder of files named 0001_name.up.sql and
// 0001_name.down.sql, numbered from 1 without gaps.
func loadMigrations(files fs.FS, folder string) ([]Migration, error) {
	ups, err := fs.Glob(files, path.Join(folder, "*.up.sql"))
	if err != nil {
		return nil, err
	}
	var out []Migration
	for _, up := range ups {
		base := strings.TrimSuffix(path.Base(up), ".up.sql")
		number, name, _ := strings.Cut(base, "_")
		version, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("migration %s has no number", up)
		}
		m := Migration{Version: version, Name: name}
		if m.up, err = text(files, up); err != nil {
			return nil, err
		}
		if m.down, err = text(files, path.Join(folder, base+".down.sql")); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b Migration) int { return cmp.Compare(a.Version, b.Version) })
	for i := range out {
		if out[i].Version != i+1 {
			return nil, fmt.Errorf("migration %d is missing in %s", i+1, folder)
		}
	}
	return out, nil
}

func text(files fs.FS, name string) (string, error) {
	b, err := fs.ReadFile(files, name)
	return string(b), err
}
