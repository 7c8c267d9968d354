package llmgw

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"llmgw.io/llmgw/adminapi"
	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/agent/fetch"
	"llmgw.io/llmgw/agent/inspect"
	"llmgw.io/llmgw/catalog"
)

// WeightsFile says how weights are looked into before a definition that names them
// is taken. It is not how nodes fetch them: that is in the agents' file.
type WeightsFile struct {
	// Unseen takes definitions without a look at their weights.
	Unseen bool `json:"unseen,omitempty"`
	// Reach is what may be looked at beyond public addresses over https. Empty: the
	// rest is not looked at, and nodes may fetch it all the same.
	Reach fetch.Reach `json:"reach,omitempty"`
	// Hub is where hf:// sources are looked at, Mirror a server of files by their
	// hash. Empty: such sources are not looked at.
	Hub    fetch.Hub `json:"hub,omitempty"`
	Mirror string    `json:"mirror,omitempty"`
}

func (w *WeightsFile) check() error {
	if w.Hub.TokenFile != "" && !filepath.IsAbs(w.Hub.TokenFile) {
		return fmt.Errorf("weights.hub.token_file: %q must be an absolute path", w.Hub.TokenFile)
	}
	_, err := fetch.NewLooker(w.looker())
	if err != nil {
		return fmt.Errorf("weights: %w", err)
	}
	return nil
}

func (w *WeightsFile) looker() fetch.Config {
	return fetch.Config{Reach: w.Reach, Hub: w.Hub, Mirror: w.Mirror}
}

var (
	_ catalog.Inspector = (*inspect.Inspector)(nil)
	_ inspect.Models    = (*catalog.Service)(nil)
	_ adminapi.Looks    = looks{}
)

// wireInspector makes what looks into weights, where it is to.
func (c *ControlPlane) wireInspector(context.Context) error {
	if !c.cfg.InspectWeights || c.cfg.Settings.Weights.Unseen {
		return nil
	}
	cfg := c.cfg.Settings.Weights.looker()
	cfg.Logger = c.logger
	looker, err := fetch.NewLooker(cfg)
	if err == nil {
		c.inspector, err = inspect.New(inspect.Config{Looker: looker, Logger: c.logger})
	}
	if err != nil {
		return errors.Join(errors.New("weights cannot be looked into"), err)
	}
	return nil
}

// inspect looks at what is in force, until ctx ends.
func (c *ControlPlane) inspect(ctx context.Context) error {
	if c.inspector == nil {
		<-ctx.Done()
		return nil
	}
	return c.inspector.Run(ctx, c.catalog)
}

// looks is what was seen of weights, as the admin API shows it.
type looks struct{ *inspect.Inspector }

// Look is what was seen of a model's weights.
func (l looks) Look(m *catalog.Model) (view.Look, bool) {
	r, ok := l.Report(m)
	if !ok {
		return view.Look{}, false
	}
	out := view.Look{Unsure: r.Unsure, SeenWeights: view.SeenWeights{
		Architecture: r.Architecture, ContextLength: r.Context, Layers: r.Layers, Bytes: r.Bytes, LookedAt: r.At.UTC(),
	}}
	for _, f := range r.Wrong {
		out.Wrong = append(out.Wrong, f.Field+": "+f.Text)
	}
	return out, true
}
