package adminapi

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/storage"
)

// usualSince is how far back sums reach.
const usualSince = 24 * time.Hour

func (a *API) usage(c *call) ([]view.ScopeUsage, error) {
	q := c.r.URL.Query()
	by := storage.Level(q.Get("by"))
	if by == "" {
		by = storage.ByTeam
	}
	if !slices.Contains(storage.Levels, by) {
		return nil, invalid("usage cannot be summed by %q; by is one of %s", clip(string(by)), listed(storage.Levels))
	}
	since := usualSince
	if s := q.Get("since"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 {
			return nil, invalid("since must be a positive duration such as 24h, not %q", clip(s))
		}
		since = d
	}
	sums, err := a.cfg.Usage.SumUsage(c.r.Context(), storage.UsageQuery{By: by, Since: c.now.Add(-since)})
	if err != nil {
		return nil, err
	}
	return view.UsageOf(sums), nil
}

func (a *API) getRequest(c *call) (view.Request, error) {
	id := c.param("id")
	r, err := a.records.Request(c.r.Context(), id)
	if errors.Is(err, storage.ErrNotFound) {
		return view.Request{}, missing("there is no record of request %q; records are written a few seconds after a request ends, so ask again soon", clip(id))
	}
	if err != nil {
		return view.Request{}, err
	}
	return view.RequestOf(r), nil
}

func (a *API) explainRequest(c *call) (view.RequestExplain, error) {
	id := c.param("id")
	e, ok := a.cfg.Choices.ExplainRequest(id)
	if !ok {
		return view.RequestExplain{}, missing("nothing is known of how request %q was served: it came to no replica, another router served it, "+
			"or it is not among the newest few thousand any more; ask sooner, and at the control plane that served it", clip(id))
	}
	return e, nil
}

func (a *API) listAudit(c *call) ([]view.AuditEvent, error) {
	limit, err := c.limit()
	if err != nil {
		return nil, err
	}
	after, err := c.cursor()
	if err != nil {
		return nil, err
	}
	query := c.r.URL.Query()
	q := storage.AuditQuery{Limit: limit + 1, Object: query.Get("object"), Principal: query.Get("principal")}
	if after != "" {
		if q.Before, err = strconv.ParseInt(after, 10, 64); err != nil || q.Before < 1 {
			return nil, invalid("cursor is none that was given out; take it from the Link header of the answer before")
		}
	}
	events, err := a.cfg.Audit.ListAudit(c.r.Context(), q)
	if err != nil {
		return nil, err
	}
	if len(events) > limit {
		events = events[:limit]
		c.next(strconv.FormatInt(events[limit-1].Seq, 10), limit)
	}
	return view.AuditOf(events), nil
}

func (a *API) verifyAudit(c *call) (view.AuditCheck, error) {
	err := a.cfg.Audit.VerifyAudit(c.r.Context())
	if errors.Is(err, storage.ErrTampered) {
		return view.AuditCheck{Error: plain(err)}, nil
	}
	if err != nil {
		return view.AuditCheck{}, err
	}
	return view.AuditCheck{OK: true}, nil
}
