package llmgw

import (
	"context"
	"errors"
	"fmt"

	"llmgw.io/llmgw/adminapi"
	"llmgw.io/llmgw/agent/hub"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/agent/survey"
	"llmgw.io/llmgw/inventory/fabrics"
)

// networks is the watch over networks, as the admin API sees it.
type networks struct{ *survey.Survey }

// Scan has a network walked, and says what went wrong in the admin API's words.
func (n networks) Scan(ctx context.Context, key string) (fabrics.Scan, error) {
	scan, err := n.Survey.Scan(ctx, key)
	switch {
	case err == nil, errors.Is(err, fabrics.ErrNoScanner), ctx.Err() != nil:
		return scan, err
	case errors.Is(err, hub.ErrTimeout), errors.Is(err, hub.ErrBusy):
		return scan, unanswered(nil, protocol.AskScan, err)
	}
	return scan, fmt.Errorf("%w: %w", adminapi.ErrAgentFailed, err)
}

// wireSurvey keeps watch over networks through the hub.
func (c *ControlPlane) wireSurvey(context.Context) (err error) {
	c.survey, err = survey.New(survey.Config{Fleet: c.registry, Asker: c.hub, Leads: c.leading.Load, Logger: c.logger})
	return err
}
