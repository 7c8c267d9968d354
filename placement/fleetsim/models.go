package fleetsim

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// modelKeys are the words of a model, and with it of its first profile.
const modelKeys = "min= max= idle= class=critical|standard|batch window=08:00-18:00/3 source= files=w:140+v:3 start=40s, " + profileKeys

// profileKeys are the words of a profile: gpu=8xH100-80 is eight of a class,
// gpu=2 are two of any; sizes are GiB.
const profileKeys = "engine= build= gpu= vram= shared cc= mem= cpu= disk= shards= fabric= nvlink pool= label=k:v spread=rack:1 context= slots= drain="

// definition is a model with what the simulation has to know of its engines.
type definition struct {
	model catalog.Model
	// start is how long an engine takes from the weights on the disk to ready.
	// Zero: as long as reading them takes.
	start time.Duration
}

func readDefinition(w *words) (definition, error) {
	name := catalog.Name(w.arg(1))
	if !name.Valid() {
		return definition{}, fmt.Errorf("%q cannot be a model's name; write model, then letters, digits, dots and dashes", name)
	}
	least := w.num("min", 1)
	most := w.num("max", least)
	m := catalog.Model{
		Name: name, Source: "https://weights.example/" + string(name) + ".gguf",
		Scaling: &catalog.Scaling{Min: least, Max: &most, IdleTimeout: catalog.Duration(w.span("idle", 0))},
	}
	if v, ok := w.value("class"); ok {
		m.Class = catalog.Class(v)
	}
	if v, ok := w.value("source"); ok {
		m.Source = v
	}
	readWindow(w, m.Scaling)
	readFiles(w, &m)
	d := definition{model: m, start: w.span("start", 0)}
	return d, d.profile("main", w, 2, modelKeys)
}

func readWindow(w *words, s *catalog.Scaling) {
	v, ok := w.value("window")
	if !ok {
		return
	}
	hours, floor, _ := strings.Cut(v, "/")
	from, until, both := strings.Cut(hours, "-")
	n, err := strconv.Atoi(floor)
	if err != nil || !both {
		w.fail("window=%s is no window; write hours and a number, such as window=08:00-18:00/3", v)
	}
	s.Schedule = []catalog.Window{{From: from, Until: until, Min: n}}
}

func readFiles(w *words, m *catalog.Model) {
	v, ok := w.value("files")
	if !ok {
		return
	}
	for part := range strings.SplitSeq(v, "+") {
		path, gb, _ := strings.Cut(part, ":")
		n, err := strconv.ParseInt(gb, 10, 32)
		if err != nil || n < 0 || path == "" {
			w.fail("files=%s is no list of files with GiB; write one such as files=w.gguf:140", v)
		}
		m.Files = append(m.Files, catalog.File{Path: path, Bytes: n << 30})
	}
}

func (d *definition) addProfile(w *words) error {
	name := w.arg(1)
	if name == "" {
		return fmt.Errorf("a profile has no name; write profile, its name, then %s", profileKeys)
	}
	return d.profile(name, w, 2, profileKeys)
}

// profile reads one more profile and what may stand on its line.
func (d *definition) profile(name string, w *words, places int, want string) error {
	p := catalog.Profile{
		Name: name, Engine: catalog.EngineSim,
		Shards: w.num("shards", 0), Context: w.num("context", 0), Slots: w.num("slots", 0),
		MemoryGB: w.num("mem", 0), CPUCores: w.num("cpu", 0), DiskGB: w.num("disk", 0),
		DrainTimeout: catalog.Duration(w.span("drain", 0)),
		NVLinkDomain: w.flag("nvlink"),
	}
	for key, field := range map[string]*string{"build": &p.Build, "fabric": &p.Fabric, "pool": &p.Pool, "engine": (*string)(&p.Engine)} {
		if v, ok := w.value(key); ok {
			*field = v
		}
	}
	if v, ok := w.value("label"); ok {
		k, val, _ := strings.Cut(v, ":")
		p.Labels = map[string]string{k: val}
	}
	if v, ok := w.value("spread"); ok {
		level, most, bounded := strings.Cut(v, ":")
		p.Spread = &catalog.Spread{Level: inventory.Level(level)}
		if bounded {
			n, err := strconv.Atoi(most)
			if err != nil {
				w.fail("spread=%s is no spread; write a level and how many, such as spread=rack:1", v)
			}
			p.Spread.MaxPerDomain = n
		}
	}
	readGPU(w, &p)
	if p.Shards > 1 && p.GPU != nil {
		p.PipelineParallel = p.Shards // a group's shards are stages
	}
	d.model.Profiles = append(d.model.Profiles, p)
	return w.done(places, want)
}

func readGPU(w *words, p *catalog.Profile) {
	g := catalog.GPU{MemoryGB: w.num("vram", 0), Shared: w.flag("shared")}
	g.ComputeCapability, _ = w.value("cc")
	v, ok := w.value("gpu")
	if !ok {
		return
	}
	count, class, _ := strings.Cut(v, "x")
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 {
		w.fail("gpu=%s is no number of devices; write gpu=8xH100-80, gpu=2 for any class, or leave it out for none", v)
	}
	g.Count, g.Class = n, inventory.Class(class)
	p.GPU = &g
}

// weights are how much an engine of the model reads, in bytes.
func (d *definition) weights() (bytes int64) {
	for _, f := range d.model.Files {
		bytes += f.Bytes
	}
	return bytes
}

// startsIn is how long an engine takes from the weights on the disk to ready.
func (d *definition) startsIn() time.Duration {
	if d.start > 0 {
		return d.start
	}
	return bareStart + time.Duration(float64(d.weights())/readRate*float64(time.Second))
}

// What engines take where the text says nothing: the published times of large
// models on local disks are of this kind, and only proportions matter here.
const (
	bareStart = 8 * time.Second
	readRate  = 2 << 30 // bytes a second, from the disk into devices
	fetchRate = 1 << 30 // bytes a second, over the network onto the disk
)
