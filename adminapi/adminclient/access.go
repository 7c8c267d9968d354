package adminclient

import (
	"context"
	"net/url"
	"time"

	"llmgw.io/llmgw/adminapi/view"
)

// Usage sums what was used, by a level ("org", "team", …) over a span back from
// now. Empty and zero take the server's usual.
func (c *Client) Usage(ctx context.Context, by string, since time.Duration) ([]view.ScopeUsage, error) {
	q := url.Values{}
	if by != "" {
		q.Set("by", by)
	}
	if since != 0 {
		q.Set("since", since.String())
	}
	return get[[]view.ScopeUsage](ctx, c, q, "usage")
}

// Request shows the record of one client request.
func (c *Client) Request(ctx context.Context, id string) (view.Request, error) {
	return get[view.Request](ctx, c, nil, "requests", id)
}

// ExplainRequest shows why a request went to its replica.
func (c *Client) ExplainRequest(ctx context.Context, id string) (view.RequestExplain, error) {
	return get[view.RequestExplain](ctx, c, nil, "requests", id, "explain")
}

// AuditList narrows a listing of changes.
type AuditList struct {
	List
	// Object and Principal match whole. Empty: any.
	Object, Principal string
}

// Audit lists changes, newest first; next goes on, empty at the end.
func (c *Client) Audit(ctx context.Context, l AuditList) (page []view.AuditEvent, next string, err error) {
	q := l.query()
	if l.Object != "" {
		q.Set("object", l.Object)
	}
	if l.Principal != "" {
		q.Set("principal", l.Principal)
	}
	return listing[view.AuditEvent](ctx, c, q, "audit")
}

// VerifyAudit checks that the log of changes is whole.
func (c *Client) VerifyAudit(ctx context.Context) (view.AuditCheck, error) {
	return get[view.AuditCheck](ctx, c, nil, "audit", "verify")
}

// Keys lists client keys; next goes on, empty at the end.
func (c *Client) Keys(ctx context.Context, l List) (page []view.Key, next string, err error) {
	return listing[view.Key](ctx, c, l.query(), "keys")
}

// CreateKey makes a client key; the answer alone holds it whole.
func (c *Client) CreateKey(ctx context.Context, in view.KeyRequest) (view.Key, error) {
	return post[view.Key](ctx, c, in, "keys")
}

// RevokeKey revokes a client key.
func (c *Client) RevokeKey(ctx context.Context, id string) (view.Revoked, error) {
	return remove[view.Revoked](ctx, c, "keys", id)
}

// JoinTokens lists permissions to join, newest first.
func (c *Client) JoinTokens(ctx context.Context) ([]view.JoinToken, error) {
	return get[[]view.JoinToken](ctx, c, nil, "tokens", "join")
}

// CreateJoinToken lets one machine join; the answer alone holds the token whole.
func (c *Client) CreateJoinToken(ctx context.Context) (view.JoinToken, error) {
	return post[view.JoinToken](ctx, c, nil, "tokens", "join")
}

// RevokeJoinToken revokes a permission to join.
func (c *Client) RevokeJoinToken(ctx context.Context, id string) (view.Revoked, error) {
	return remove[view.Revoked](ctx, c, "tokens", "join", id)
}

// AdminTokens lists admin tokens.
func (c *Client) AdminTokens(ctx context.Context) ([]view.AdminToken, error) {
	return get[[]view.AdminToken](ctx, c, nil, "tokens", "admin")
}

// CreateAdminToken makes an admin token; the answer alone holds it whole.
func (c *Client) CreateAdminToken(ctx context.Context, in view.AdminTokenRequest) (view.AdminToken, error) {
	return post[view.AdminToken](ctx, c, in, "tokens", "admin")
}

// RevokeAdminToken revokes an admin token.
func (c *Client) RevokeAdminToken(ctx context.Context, id string) (view.Revoked, error) {
	return remove[view.Revoked](ctx, c, "tokens", "admin", id)
}
