package provision

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// manifestName is the manifest's file below the mirror.
const manifestName = "manifest.json"

// job is the way of one engine from a choice to a proved build.
type job struct {
	in     *Installer
	engine string
	choice string
	facts  inventory.Facts
}

// run installs what is chosen, unless it is installed. It says each stage.
func (j *job) run(ctx context.Context) error {
	j.say(inventory.InstallWanted, "", "")
	builds, why := Resolve(j.engine, j.choice, &j.facts)
	if len(builds) == 0 {
		return errors.New(why)
	}
	if j.in.cfg.Mirror == "" {
		return errors.New("no mirror of engines is configured on this node; set engines.mirror and engines.manifest_sha256 in the agent's configuration, or install the engine by hand and choose none")
	}
	r, err := j.release(ctx, builds)
	if err != nil {
		return err
	}
	dir := filepath.Join(j.in.cfg.Dir, j.engine)
	rec, err := readRecord(dir)
	if err != nil {
		return err
	}
	sum := r.sum()
	if i := slices.IndexFunc(rec.Programs, func(p program) bool { return p.Sum == sum }); i >= 0 {
		if i > 0 { // people have gone back to the one before
			rec, err = rec.add(dir, rec.Programs[i])
		}
		j.in.took(j.engine, rec)
		return err
	}
	p := program{Engine: r.Engine, Version: r.Version, Build: r.Build, Sum: sum, Folder: filepath.Join(dir, r.Folder()+"-"+sum[:8])}
	if err := j.bring(ctx, r, &p); err != nil {
		rec.sweep(dir, j.in.cfg.InUse)
		return err
	}
	if rec, err = rec.add(dir, p); err != nil {
		return err
	}
	j.in.took(j.engine, rec)
	rec.sweep(dir, j.in.cfg.InUse)
	return nil
}

// release finds what is to be installed in the pinned manifest.
func (j *job) release(ctx context.Context, builds []string) (*Release, error) {
	paths, err := j.fetch(ctx, builds[0], "", []File{{Path: manifestName, SHA256: strings.ToLower(j.in.cfg.Pin)}})
	if err != nil {
		return nil, fmt.Errorf("the manifest of the mirror cannot be had: %w", err)
	}
	data, err := os.ReadFile(paths[0])
	if err != nil {
		return nil, err
	}
	m, err := ParseManifest(data, j.in.cfg.Pin)
	if err != nil {
		return nil, err
	}
	return m.Pick(j.engine, j.in.cfg.OS, j.in.cfg.Arch, builds)
}

// bring fetches a release, puts it into its folder and proves it there.
func (j *job) bring(ctx context.Context, r *Release, p *program) error {
	paths, err := j.fetch(ctx, r.Build, r.Version, r.Files)
	if err != nil {
		return err
	}
	j.say(inventory.InstallInstalling, r.Build, r.Version)
	if err := os.RemoveAll(p.Folder); err != nil { // half an installation
		return err
	}
	if err := os.MkdirAll(p.Folder, 0o755); err != nil {
		return err
	}
	if r.Kind == KindWheels {
		p.Path = filepath.Join(p.Folder, "bin", filepath.FromSlash(r.Program))
		err = j.wheels(ctx, r, paths, p.Folder)
	} else {
		p.Path = filepath.Join(p.Folder, filepath.FromSlash(r.Program))
		err = unpack(paths[0], p.Folder)
	}
	if err == nil {
		err = readable(p.Folder, j.in.cfg.Dir)
	}
	if err != nil {
		return fmt.Errorf("%s %s cannot be installed: %w", r.Engine, r.Folder(), err)
	}
	j.say(inventory.InstallTesting, r.Build, r.Version)
	if err := j.prove(ctx, r, p.Path); err != nil {
		return fmt.Errorf("%s %s is installed and does not run, so it is not used: %w", r.Engine, r.Folder(), err)
	}
	_ = os.RemoveAll(filepath.Dir(paths[0])) // what was fetched is unpacked now
	return nil
}

// fetch brings files of the mirror here, telling how far it is.
func (j *job) fetch(ctx context.Context, build, version string, files []File) ([]string, error) {
	j.say(inventory.InstallFetching, build, version)
	var want []protocol.DesiredFile
	for _, f := range files {
		want = append(want, protocol.DesiredFile{
			Path: filepath.Base(f.Path), SHA256: f.SHA256, Bytes: f.Bytes, From: []string{j.in.cfg.Mirror + "/" + f.Path},
		})
	}
	return j.in.cfg.Fetch.Files(ctx, want, func(p inventory.Fetch, trouble string) {
		e := inventory.EngineInstall{Build: build, Version: version, State: inventory.InstallFetching, Error: trouble}
		if p.BytesTotal > 0 {
			// Ten steps: each is a fact that is sent.
			n := int(p.BytesDone*10/p.BytesTotal) * 10
			e.Percent = &n
		}
		j.in.say(j.engine, e)
	})
}

func (j *job) say(s inventory.InstallState, build, version string) {
	j.in.say(j.engine, inventory.EngineInstall{State: s, Build: build, Version: version})
}
