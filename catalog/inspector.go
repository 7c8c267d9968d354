package catalog

import (
	"context"
	"slices"
)

// Inspector looks at what a definition names, before it is kept. It may be called
// at once, and block for some seconds. The error is joined InvalidErrors about what
// no node could do anything about, or ctx's; what cannot be looked at is no error.
type Inspector interface {
	Inspect(ctx context.Context, m *Model) error
}

// lookAt has the inspector look at what a sound definition names, where that is
// other than before. It takes seconds, so nobody's turn is held meanwhile.
func (s *Service) lookAt(ctx context.Context, m, old *Model) error {
	if s.inspect == nil || s.store == nil || old != nil && sameWeights(m, old) {
		return nil
	}
	if c := called(*m, s.aliases); Validate(&c) != nil {
		return nil //nolint:nilerr // it is refused in a moment, with every reason
	}
	return s.inspect.Inspect(ctx, m)
}

// sameWeights reports whether two definitions have their weights from one place,
// for the same engines.
func sameWeights(a, b *Model) bool {
	return a.Source == b.Source && slices.Equal(a.Files, b.Files) && slices.Equal(a.Adapters, b.Adapters) &&
		slices.EqualFunc(a.Profiles, b.Profiles, func(p, q Profile) bool { return p.Engine == q.Engine })
}
