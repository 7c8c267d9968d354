package adminapi

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode"

	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/storage"
)

// longestName bounds names of keys, projects and users.
const longestName = 128

func (a *API) listKeys(c *call) ([]view.Key, error) {
	keys, err := a.cfg.Keys.ListKeys(c.r.Context())
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(keys, func(x, y storage.Key) int { return cmp.Compare(x.ID, y.ID) })
	keys, err = page(c, keys, func(k storage.Key) string { return k.ID })
	if err != nil {
		return nil, err
	}
	out := make([]view.Key, 0, len(keys))
	for _, k := range keys {
		out = append(out, view.KeyOf(k))
	}
	return out, nil
}

func (a *API) createKey(c *call, in view.KeyRequest) (view.Key, error) {
	k, err := keyOf(in, c.now)
	if err != nil {
		return view.Key{}, err
	}
	id, secret := storage.NewKeySecret()
	k.ID, k.Hash = id, a.cfg.Pepper.Hash(secret)
	err = a.cfg.Keys.CreateKey(c.r.Context(), k, c.author(""))
	if errors.Is(err, storage.ErrNotFound) {
		return view.Key{}, missing("there is no project %q; leave project out for the one that is always there", clip(k.Project))
	}
	if err != nil {
		return view.Key{}, err
	}
	v := view.KeyOf(k)
	v.Secret = secret
	return v, nil
}

// keyOf checks what is asked, and complains of everything at once.
func keyOf(in view.KeyRequest, now time.Time) (storage.Key, error) {
	all := problems{what: "the key request"}
	all.name("name", in.Name, true)
	all.name("project", in.Project, false)
	all.name("user", in.User, false)
	all.future("expires_at", in.ExpiresAt, now)
	k := storage.Key{
		Name: in.Name, Project: cmp.Or(in.Project, storage.DefaultProject), User: in.User,
		CreatedAt: now.UTC(), ExpiresAt: in.ExpiresAt, Models: in.Models,
	}
	// An empty list means nothing in one place and everything in another; nobody
	// who wrote one can be sure which.
	if in.Models != nil && len(in.Models) == 0 {
		all.add("models is empty; leave it out for every model")
	}
	if in.CIDRs != nil && len(in.CIDRs) == 0 {
		all.add("cidrs is empty; leave it out for anywhere")
	}
	for _, m := range in.Models {
		all.name("models", m, true)
	}
	for _, s := range in.CIDRs {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			all.add("%q in cidrs is no network; write one such as 10.0.0.0/8", clip(s))
			continue
		}
		k.CIDRs = append(k.CIDRs, p.Masked())
	}
	return k, all.err()
}

func (a *API) revokeKey(c *call) (view.Revoked, error) {
	id := c.param("id")
	err := a.cfg.Keys.RevokeKey(c.r.Context(), id, c.author(""))
	if errors.Is(err, storage.ErrNotFound) {
		return view.Revoked{}, missing("there is no key %q; GET %s/keys lists them", clip(id), Base)
	}
	if err != nil {
		return view.Revoked{}, err
	}
	return view.Revoked{Revoked: id}, nil
}

// problems collects what is wrong with a request.
type problems struct {
	what string
	list []string
}

func (p *problems) add(format string, args ...any) {
	p.list = append(p.list, invalid(format, args...).text)
}

// name checks a name that people will read in lists and logs.
func (p *problems) name(field, s string, required bool) {
	switch {
	case s == "" && required:
		p.add("%s is empty", field)
	case len(s) > longestName:
		p.add("%s is longer than %d bytes", field, longestName)
	case strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		p.add("%s has characters that do not print", field)
	}
}

func (p *problems) future(field string, t, now time.Time) {
	if !t.IsZero() && !t.After(now) {
		p.add("%s is in the past; leave it out for never", field)
	}
}

func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	return invalid("%s is wrong: %s", p.what, strings.Join(p.list, "; "))
}
