package adminapi

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

// joinLife is how long a permission to join lasts.
const joinLife = time.Hour

func (a *API) listJoinTokens(c *call) ([]view.JoinToken, error) {
	tokens, err := a.cfg.JoinTokens.ListJoinTokens(c.r.Context())
	if err != nil {
		return nil, err
	}
	out := make([]view.JoinToken, 0, len(tokens))
	for _, t := range tokens {
		out = append(out, view.JoinTokenOf(t))
	}
	return out, nil
}

func (a *API) createJoinToken(c *call) (view.JoinToken, error) {
	secret, err := a.cfg.NewJoinToken()
	if err != nil {
		return view.JoinToken{}, fmt.Errorf("make a join token: %w", err)
	}
	t := inventory.JoinToken{
		ID: secret.ID, Hash: secret.Hash, CreatedBy: c.who.Principal, CreatedAt: c.now.UTC(), ExpiresAt: c.now.Add(joinLife).UTC(),
	}
	if err := a.cfg.JoinTokens.CreateJoinToken(c.r.Context(), t, c.author("")); err != nil {
		return view.JoinToken{}, err
	}
	v := view.JoinTokenOf(t)
	v.Token = secret.Token
	return v, nil
}

func (a *API) revokeJoinToken(c *call) (view.Revoked, error) {
	id := c.param("id")
	err := a.cfg.JoinTokens.RevokeJoinToken(c.r.Context(), id, c.author(""))
	if errors.Is(err, storage.ErrNotFound) {
		return view.Revoked{}, missing("there is no join token %q; GET %s/tokens/join lists them", clip(id), Base)
	}
	if err != nil {
		return view.Revoked{}, err
	}
	return view.Revoked{Revoked: id}, nil
}

func (a *API) listAdminTokens(c *call) ([]view.AdminToken, error) {
	tokens, err := a.cfg.AdminTokens.ListAdminTokens(c.r.Context())
	if err != nil {
		return nil, err
	}
	out := make([]view.AdminToken, 0, len(tokens))
	for _, t := range tokens {
		out = append(out, view.AdminTokenOf(t))
	}
	return out, nil
}

func (a *API) createAdminToken(c *call, in view.AdminTokenRequest) (view.AdminToken, error) {
	if err := checkToken(in, c.now); err != nil {
		return view.AdminToken{}, err
	}
	if err := a.nameFree(c, in.Name); err != nil {
		return view.AdminToken{}, err
	}
	id, secret := storage.NewAdminSecret()
	t := storage.AdminToken{
		ID: id, Name: in.Name, Role: storage.Role(in.Role), Hash: a.cfg.Pepper.Hash(secret),
		CreatedBy: c.who.Principal, CreatedAt: c.now.UTC(), ExpiresAt: in.ExpiresAt,
	}
	if err := a.cfg.AdminTokens.CreateAdminToken(c.r.Context(), t, c.author("")); err != nil {
		return view.AdminToken{}, err
	}
	v := view.AdminTokenOf(t)
	v.Token = secret
	return v, nil
}

// checkToken complains of everything at once. The name stands in the audit log
// for who acted, so it is kept to what a claim may be.
func checkToken(in view.AdminTokenRequest, now time.Time) error {
	all := problems{what: "the admin token request"}
	if in.Name == "" || cleanActor(in.Name) != in.Name {
		all.add("name must be 1 to %d letters, digits or ._-@", longestActor)
	}
	if !slices.Contains(storage.Roles, storage.Role(in.Role)) {
		all.add("there is no role %q; it is one of %s", clip(in.Role), listed(storage.Roles))
	}
	all.future("expires_at", in.ExpiresAt, now)
	return all.err()
}

// nameFree keeps two tokens that work from acting under one name.
func (a *API) nameFree(c *call, name string) error {
	tokens, err := a.cfg.AdminTokens.ListAdminTokens(c.r.Context())
	if err != nil {
		return err
	}
	for _, t := range tokens {
		live := t.RevokedAt.IsZero() && (t.ExpiresAt.IsZero() || t.ExpiresAt.After(c.now))
		if live && t.Name == name {
			return refuse(http.StatusConflict, codeExists, "there is an admin token %q already (%s); choose another name, or revoke it first", name, t.ID)
		}
	}
	return nil
}

func (a *API) revokeAdminToken(c *call) (view.Revoked, error) {
	id := c.param("id")
	err := a.cfg.AdminTokens.RevokeAdminToken(c.r.Context(), id, c.author(""))
	if errors.Is(err, storage.ErrNotFound) {
		return view.Revoked{}, missing("there is no admin token %q; GET %s/tokens/admin lists them", clip(id), Base)
	}
	if err != nil {
		return view.Revoked{}, err
	}
	return view.Revoked{Revoked: id}, nil
}
