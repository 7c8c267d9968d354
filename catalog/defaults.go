package catalog

import "time"

// Defaults of a definition.
const (
	DefaultIdleTimeout  = 15 * time.Minute
	DefaultStartTimeout = 10 * time.Minute
	DefaultDrainTimeout = 5 * time.Minute
)

// WithDefaults is the definition in force: what was left out is filled in. The
// model it is called on is not changed.
func (m Model) WithDefaults() Model {
	m.Class = m.Class.OrDefault()
	if m.External != nil {
		return m
	}
	least, most := m.Bounds()
	s := Scaling{Min: least, Max: &most}
	if m.Scaling != nil {
		s.IdleTimeout, s.Schedule = m.Scaling.IdleTimeout, m.Scaling.Schedule
	}
	if s.IdleTimeout == 0 && m.OnDemand() {
		s.IdleTimeout = Duration(DefaultIdleTimeout)
	}
	m.Scaling = &s
	ps := make([]Profile, len(m.Profiles))
	for i, p := range m.Profiles {
		ps[i] = p.WithDefaults()
	}
	m.Profiles = ps
	return m
}

// WithDefaults fills in what a profile leaves out.
func (p Profile) WithDefaults() Profile {
	if !p.Managed() {
		return p
	}
	p.Shards = p.ShardCount()
	p.TensorParallel, p.PipelineParallel, p.DataParallel = p.Parallel()
	if p.StartTimeout == 0 {
		p.StartTimeout = Duration(DefaultStartTimeout)
	}
	if p.DrainTimeout == 0 {
		p.DrainTimeout = Duration(DefaultDrainTimeout)
	}
	return p
}

// IdleAfter is the idle timeout in force.
func (m *Model) IdleAfter() time.Duration {
	if m.Scaling == nil || m.Scaling.IdleTimeout == 0 {
		return DefaultIdleTimeout
	}
	return time.Duration(m.Scaling.IdleTimeout)
}

// Redacted is the definition as anybody may see it: write-only keys are gone.
func (m Model) Redacted() Model {
	if m.External != nil && m.External.Key != nil {
		e := *m.External
		e.Key = nil
		m.External = &e
	}
	ps := make([]Profile, len(m.Profiles))
	copy(ps, m.Profiles)
	for i := range ps {
		if len(ps[i].Endpoints) == 0 {
			continue
		}
		es := make([]Endpoint, len(ps[i].Endpoints))
		for j, e := range ps[i].Endpoints {
			es[j] = Endpoint{URL: e.URL}
		}
		ps[i].Endpoints = es
	}
	if m.Profiles != nil {
		m.Profiles = ps
	}
	return m
}
