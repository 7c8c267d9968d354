package adminclient

import (
	"context"
	"net/url"
	"time"

	"llmgw.io/llmgw/adminapi/view"
)

// Facility shows the building, what stands in it, and what is held.
func (c *Client) Facility(ctx context.Context) (view.FacilityReport, error) {
	return get[view.FacilityReport](ctx, c, nil, "facility")
}

// Hold holds a place, in place of the hold it has.
func (c *Client) Hold(ctx context.Context, in view.HoldRequest) (view.Hold, error) {
	return post[view.Hold](ctx, c, in, "facility", "holds")
}

// ReleaseHold releases a place.
func (c *Client) ReleaseHold(ctx context.Context, domain string) (view.Released, error) {
	return remove[view.Released](ctx, c, "facility", "holds", domain)
}

// PlanHold shows what carrying out a place would do. Times that are zero are
// left out.
func (c *Client) PlanHold(ctx context.Context, domain string, from, until time.Time) (view.HoldPlan, error) {
	q := url.Values{"domain": {domain}}
	if !from.IsZero() {
		q.Set("from", from.UTC().Format(time.RFC3339))
	}
	if !until.IsZero() {
		q.Set("until", until.UTC().Format(time.RFC3339))
	}
	return get[view.HoldPlan](ctx, c, q, "facility", "plan")
}

// PlanChange shows what a change of a model, a node or a hold would do.
func (c *Client) PlanChange(ctx context.Context, in view.PlanRequest) (view.ChangePlan, error) {
	return post[view.ChangePlan](ctx, c, in, "plan-change")
}

// ReleaseBrake lets lost replicas be replaced again.
func (c *Client) ReleaseBrake(ctx context.Context) (view.BrakeReleased, error) {
	return post[view.BrakeReleased](ctx, c, nil, "brake", "release")
}

// SetLabels changes the operators' labels of a node; nil removes one.
func (c *Client) SetLabels(ctx context.Context, id string, labels map[string]*string) (view.Node, error) {
	return post[view.Node](ctx, c, view.LabelsRequest{Labels: labels}, "nodes", id, "labels")
}
