package provision

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"llmgw.io/llmgw/inventory"
)

const (
	// maxManifest bounds a manifest, in bytes; maxReleases and maxFiles what it
	// lists.
	maxManifest = 4 << 20
	maxReleases = 1000
	maxFiles    = 2000
)

// Kinds of releases.
const (
	// KindArchive is one tar.gz or zip that is unpacked as it is.
	KindArchive = "archive"
	// KindWheels are Python wheels, installed without a network into an
	// environment of their own.
	KindWheels = "wheels"
)

// Manifest lists what may be installed.
type Manifest struct {
	Releases []Release `json:"releases"`
}

// Release is one build of one version of an engine.
type Release struct {
	Engine  string `json:"engine"`
	Version string `json:"version"`
	Build   string `json:"build"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	Kind    string `json:"kind"`
	// Program is the engine's program in the release, with slashes. For wheels:
	// the command they install, such as "vllm".
	Program string `json:"program"`
	// Files are fetched from the mirror, in order.
	Files []File `json:"files"`
}

// File is one file of a release on the mirror.
type File struct {
	// Path is below the mirror's address.
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// ErrPin says that a manifest is not the one that is pinned.
var ErrPin = errors.New("the manifest is not the pinned one")

var (
	plainWord = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$`)
	hexSum    = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// ParseManifest reads a manifest, strictly, and holds it to its pin: the SHA-256
// of its bytes in hexadecimal. All that is wrong with it is told together.
func ParseManifest(data []byte, pin string) (*Manifest, error) {
	if len(data) > maxManifest {
		return nil, fmt.Errorf("the manifest has more than %d bytes", maxManifest)
	}
	sum := sha256.Sum256(data)
	if got := hex.EncodeToString(sum[:]); got != strings.ToLower(pin) {
		return nil, fmt.Errorf("%w: it has the hash %s, and %s is pinned; look who changed it, then pin the one you want", ErrPin, got, pin)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var m Manifest
	if err := d.Decode(&m); err != nil {
		return nil, fmt.Errorf("the manifest cannot be read: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the manifest has something behind its end")
	}
	return &m, m.check()
}

func (m *Manifest) check() error {
	if len(m.Releases) > maxReleases {
		return fmt.Errorf("the manifest lists %d releases, and at most %d are taken", len(m.Releases), maxReleases)
	}
	var errs []error
	seen := map[string]bool{}
	for i := range m.Releases {
		r := &m.Releases[i]
		key := strings.Join([]string{r.Engine, r.Build, r.OS, r.Arch}, "/")
		if seen[key] {
			errs = append(errs, fmt.Errorf("releases[%d]: there are two for %s; a manifest names one version of each build", i, key))
		}
		seen[key] = true
		for _, err := range r.check() {
			errs = append(errs, fmt.Errorf("releases[%d]: %w", i, err))
		}
	}
	return errors.Join(errs...)
}

func (r *Release) check() (errs []error) {
	miss := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	builds, known := inventory.KnownBuilds()[r.Engine]
	miss(!known, "engine %q is not one that can be installed", r.Engine)
	miss(known && !slices.Contains(builds, r.Build), "%s has no build %q; it has %s", r.Engine, r.Build, strings.Join(builds, ", "))
	miss(!plainWord.MatchString(r.Version) || r.Version == "latest", "version %q is none; write the exact one", r.Version)
	miss(r.OS == "" || r.Arch == "", "os and arch are missing, such as linux and amd64")
	miss(r.Kind != KindArchive && r.Kind != KindWheels, "kind %q must be %s or %s", r.Kind, KindArchive, KindWheels)
	miss(!localPath(r.Program), "program %q must be a path inside of the release", r.Program)
	miss(len(r.Files) == 0 || len(r.Files) > maxFiles, "it has %d files; name 1 to %d", len(r.Files), maxFiles)
	miss(r.Kind == KindArchive && len(r.Files) != 1, "an archive is one file")
	names := map[string]bool{}
	for _, f := range r.Files {
		base := path.Base(f.Path)
		miss(names[base], "two files are named %q; they are put into one folder", base)
		names[base] = true
		miss(!localPath(f.Path), "file %q must be a path below the mirror", f.Path)
		miss(!hexSum.MatchString(f.SHA256), "file %q has no hash; write its SHA-256 in small letters", f.Path)
		miss(f.Bytes <= 0, "file %q has no size in bytes", f.Path)
	}
	return errs
}

// localPath reports whether p leads nowhere but below where it is used.
func localPath(p string) bool {
	return p != "" && p == path.Clean(p) && !path.IsAbs(p) && p != ".." && !strings.HasPrefix(p, "../") &&
		!strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == '\\' || r == 0x7f })
}

// Pick is the first of the builds that the manifest has for the machine.
func (m *Manifest) Pick(engine, goos, arch string, builds []string) (*Release, error) {
	for _, b := range builds {
		for i := range m.Releases {
			if r := &m.Releases[i]; r.Engine == engine && r.Build == b && r.OS == goos && r.Arch == arch {
				return r, nil
			}
		}
	}
	return nil, fmt.Errorf("the mirror's manifest has no build %s of %s for %s/%s; add one to it, or choose another build", strings.Join(builds, " or "), engine, goos, arch)
}

// Folder is the name of the folder the release is installed to.
func (r *Release) Folder() string { return r.Version + "-" + r.Build }
