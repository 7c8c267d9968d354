package catalog

import (
	"slices"
	"strconv"
	"strings"
)

// Validate checks one definition by itself and returns every complaint at once,
// each an *InvalidError, joined. Nil: the definition is sound. What it cannot
// see, collisions and fallbacks, is for ValidateAll.
func Validate(m *Model) error {
	c := &complaints{model: m.Name}
	checkNames(c, m)
	if !m.Class.Valid() {
		c.add("class", "%q is no capacity class; use critical, standard or batch", m.Class)
	}
	checkScaling(c, m)
	checkSource(c, m)
	checkFiles(c, m.Files)
	checkServedBy(c, m)
	for i := range m.Profiles {
		checkProfile(c, "profiles["+strconv.Itoa(i)+"]", &m.Profiles[i])
	}
	checkProfileNames(c, m.Profiles)
	checkReferences(c, m)
	checkExternal(c, m.External)
	checkCanary(c, m)
	checkEval(c, m.Eval)
	checkPrice(c, m.Price)
	checkOrigin(c, m.Origin)
	checkPrefetch(c, m)
	c.negative("context_length", int64(m.ContextLength))
	for i, s := range m.Capabilities {
		if !plainWord(s) {
			c.add(at("capabilities", i), "%q is no capability; use a word such as \"tools\"", s)
		}
	}
	return c.err()
}

func at(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

// checkNames checks everything a client could address the model by.
func checkNames(c *complaints, m *Model) {
	if m.Name == "" {
		c.add("name", "a model needs a name; %s", nameRule)
	} else if !m.Name.Valid() {
		c.add("name", "%q cannot be a name; %s", m.Name, nameRule)
	}
	seen := map[string]string{m.Name.fold(): "the model's own name"}
	take := func(field string, n Name) {
		if !n.Valid() {
			c.add(field, "%q cannot be a name; %s", n, nameRule)
			return
		}
		if as, taken := seen[n.fold()]; taken {
			c.add(field, "%q is already %s; names may not differ only in case", n, as)
			return
		}
		seen[n.fold()] = "used at " + field
	}
	for i, a := range m.Aliases {
		take(at("aliases", i), a)
	}
	for i, a := range m.Adapters {
		field := at("adapters", i)
		take(field+".name", a.Name)
		if a.Source == "" {
			c.add(field+".source", "an adapter needs a source, such as file:///srv/adapters/x.gguf")
		} else if why := sourceProblem(a.Source); why != "" {
			c.add(field+".source", "%s", why)
		}
	}
}

func checkScaling(c *complaints, m *Model) {
	s := m.Scaling
	if s == nil {
		return
	}
	c.negative("scaling.min", int64(s.Min))
	c.negative("scaling.idle_timeout", int64(s.IdleTimeout))
	least, most := m.Bounds()
	switch {
	case s.Max != nil && *s.Max < 0:
		c.negative("scaling.max", int64(*s.Max))
	case most < least:
		c.add("scaling.max", "max %d is below min %d; leave max out to follow min", most, least)
	case most > MaxReplicas:
		c.add("scaling.max", "%d replicas are more than the %d that a model may have", most, MaxReplicas)
	}
	for i, w := range s.Schedule {
		checkWindow(c, at("scaling.schedule", i), w, most)
	}
}

// MaxReplicas bounds the replicas of one model.
const MaxReplicas = 100_000

var weekdays = []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}

func checkWindow(c *complaints, field string, w Window, most int) {
	for _, d := range w.Days {
		if !slices.Contains(weekdays, d) {
			c.add(field+".days", "%q is no day; use mon, tue, wed, thu, fri, sat, sun", d)
		}
	}
	if _, ok := ClockMinutes(w.From); !ok {
		c.add(field+".from", "%q is no time of day; write it as \"08:00\", in UTC", w.From)
	}
	if _, ok := ClockMinutes(w.Until); !ok {
		c.add(field+".until", "%q is no time of day; write it as \"18:00\", in UTC", w.Until)
	}
	if w.From == w.Until && w.From != "" {
		c.add(field+".until", "the window is empty: it ends when it begins")
	}
	c.negative(field+".min", int64(w.Min))
	if w.Min > most {
		c.add(field+".min", "%d is above the model's max %d; raise scaling.max", w.Min, most)
	}
}

// ClockMinutes reads "08:30" as minutes after midnight; "24:00" ends a day.
func ClockMinutes(s string) (minutes int, ok bool) {
	h, m, found := strings.Cut(s, ":")
	if !found || len(h) != 2 || len(m) != 2 {
		return 0, false
	}
	hours, err1 := strconv.ParseUint(h, 10, 8)
	mins, err2 := strconv.ParseUint(m, 10, 8)
	if err1 != nil || err2 != nil || mins > 59 || hours > 24 || hours == 24 && mins > 0 {
		return 0, false
	}
	return int(hours*60 + mins), true
}

// checkServedBy checks that exactly one of profiles and external serves it.
func checkServedBy(c *complaints, m *Model) {
	switch {
	case m.External != nil && len(m.Profiles) > 0:
		c.add("external", "a model is served by profiles or by another provider, not by both; make two models and a fallback")
	case m.External == nil && len(m.Profiles) == 0:
		c.add("profiles", "a model needs at least one profile, unless another provider serves it (external)")
	case m.External != nil && m.Scaling != nil:
		c.add("scaling", "an external model has no replicas to scale; leave scaling out")
	}
}

func checkReferences(c *complaints, m *Model) {
	apart := map[Name]bool{}
	for i, a := range m.Apart {
		switch {
		case a == m.Name:
			c.add(at("apart", i), "a model cannot stay apart from itself; for its replicas set spread to {level: node, max_per_domain: 1} in its profiles")
		case !a.Valid():
			c.add(at("apart", i), "%q cannot be a name; %s", a, nameRule)
		case apart[a]:
			c.add(at("apart", i), "%q is named twice", a)
		}
		apart[a] = true
	}
	seen := map[Name]bool{}
	for i, f := range m.Fallbacks {
		switch {
		case f == m.Name:
			c.add(at("fallbacks", i), "a model cannot fall back to itself")
		case !f.Valid():
			c.add(at("fallbacks", i), "%q cannot be a name; %s", f, nameRule)
		case seen[f]:
			c.add(at("fallbacks", i), "%q is named twice", f)
		}
		seen[f] = true
	}
}

func checkCanary(c *complaints, m *Model) {
	k := m.Canary
	if k == nil {
		return
	}
	if k.Model == m.Name {
		c.add("canary.model", "a model cannot be its own candidate")
	} else if !k.Model.Valid() {
		c.add("canary.model", "%q cannot be a name; %s", k.Model, nameRule)
	}
	if !(k.Share >= 0 && k.Share <= 1) {
		c.add("canary.share", "%v is not between 0 and 1", k.Share)
	}
	if g := k.Guards; g != nil {
		if !(g.MaxErrorRate >= 0 && g.MaxErrorRate <= 1) {
			c.add("canary.guards.max_error_rate", "%v is not between 0 and 1", g.MaxErrorRate)
		}
		if !(g.MaxTTFTRatio >= 0) {
			c.add("canary.guards.max_ttft_ratio", "%v is below zero", g.MaxTTFTRatio)
		}
		c.negative("canary.guards.min_requests", int64(g.MinRequests))
	}
}

func checkEval(c *complaints, e *EvalGate) {
	if e == nil {
		return
	}
	if e.Suite == "" {
		c.add("eval.suite", "name the suite that an update must pass")
	}
	if !(e.MinScore >= 0 && e.MinScore <= 1) {
		c.add("eval.min_score", "%v is not between 0 and 1", e.MinScore)
	}
	if !(e.MaxDrop >= 0 && e.MaxDrop <= 1) {
		c.add("eval.max_drop", "%v is not between 0 and 1", e.MaxDrop)
	}
}

func checkPrice(c *complaints, p *Price) {
	if p == nil {
		return
	}
	c.negative("price.input", p.Input)
	c.negative("price.cached_input", p.CachedInput)
	c.negative("price.output", p.Output)
	c.negative("price.request", p.Request)
}

func checkOrigin(c *complaints, o *Origin) {
	if o == nil {
		return
	}
	owner, name, ok := strings.Cut(o.Repo, "/")
	if !ok || !plainWord(owner) || !plainWord(name) {
		c.add("origin.repo", "%q is no repository; write it as owner/name", o.Repo)
	}
}
