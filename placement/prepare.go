package placement

import "llmgw.io/llmgw/catalog"

// Prepare brings what is remembered of a model's first profile up to date, so
// that the next question about it costs little. It changes no answer, and says
// about how many hosts it had to ask.
func (x *Index) Prepare(m *catalog.Model) (asked int) {
	for i := range m.Profiles {
		p := &m.Profiles[i]
		if !p.Managed() {
			continue
		}
		asked = len(x.land.hosts)
		if c := x.classes[classKey{m.Name, p.Name}]; c != nil && c.at >= x.first {
			asked = min(asked, x.first+len(x.journal)-c.at)
		}
		x.class(m, p).catchUp(x)
		return asked
	}
	return 0
}
