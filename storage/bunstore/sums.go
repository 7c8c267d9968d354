package bunstore

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"llmgw.io/llmgw/storage"
)

type sumRow struct {
	ID               string `bun:"id"`
	Name             string `bun:"name"`
	Keys             int    `bun:"key_count"`
	Requests         int64  `bun:"requests"`
	PromptTokens     int64  `bun:"prompt_tokens"`
	CompletionTokens int64  `bun:"completion_tokens"`
	CostMicros       int64  `bun:"cost_micros"`
	Errors           int64  `bun:"errors"`
	LastAt           int64  `bun:"last_at"`
}

// scope is how a level's id and name are found for a row of usage. Joins are
// outer ones: a request that was served is summed, whatever has become of its
// key or its project.
type scope struct {
	id, name string
	joins    []string
}

const (
	joinProjects = "LEFT JOIN projects AS p ON p.id = u.project_id"
	joinTeams    = "LEFT JOIN teams AS t ON t.id = p.team_id"
	joinOrgs     = "LEFT JOIN orgs AS o ON o.id = t.org_id"
)

func scopeOf(by storage.Level) (scope, error) {
	switch by {
	case storage.ByOrg:
		return scope{"COALESCE(o.id, '')", "o.name", []string{joinProjects, joinTeams, joinOrgs}}, nil
	case storage.ByTeam:
		return scope{"COALESCE(t.id, '')", "t.name", []string{joinProjects, joinTeams}}, nil
	case storage.ByProject:
		return scope{"u.project_id", "p.name", []string{joinProjects}}, nil
	case storage.ByUser:
		return scope{"u.user_id", "x.name", []string{"LEFT JOIN users AS x ON x.id = u.user_id"}}, nil
	case storage.ByKey:
		return scope{"u.key_id", "k.name", []string{"LEFT JOIN keys AS k ON k.id = u.key_id"}}, nil
	case storage.ByModel:
		const billed = "CASE WHEN u.served_model <> '' THEN u.served_model ELSE u.model END"
		return scope{id: billed, name: billed}, nil
	}
	return scope{}, fmt.Errorf("%q is not a level; the levels are %v: %w", by, storage.Levels, storage.ErrInvalid)
}

// SumUsage sums by a level since a time, ordered by id.
func (s *Store) SumUsage(ctx context.Context, q storage.UsageQuery) ([]storage.UsageSum, error) {
	out := []storage.UsageSum{}
	err := s.read(ctx, func(db bun.IDB) error {
		sc, err := scopeOf(q.By)
		if err != nil {
			return err
		}
		var rows []sumRow
		if err := sumQuery(db, sc, q).Scan(ctx, &rows); err != nil {
			return err
		}
		for _, r := range rows {
			out = append(out, storage.UsageSum{
				Scope: q.By, ID: r.ID, Name: r.Name, Keys: r.Keys, Requests: r.Requests, PromptTokens: r.PromptTokens,
				CompletionTokens: r.CompletionTokens, CostMicros: r.CostMicros, Errors: r.Errors, LastAt: instant(r.LastAt),
			})
		}
		return nil
	})
	return out, err
}

func sumQuery(db bun.IDB, sc scope, q storage.UsageQuery) *bun.SelectQuery {
	sel := db.NewSelect().TableExpr("usage_rows AS u").
		ColumnExpr(sc.id+" AS id").
		ColumnExpr("COALESCE(MAX("+sc.name+"), '') AS name").
		ColumnExpr("COUNT(DISTINCT NULLIF(u.key_id, '')) AS key_count").
		ColumnExpr("COUNT(*) AS requests").
		ColumnExpr("COALESCE(SUM(u.prompt_tokens), 0) AS prompt_tokens").
		ColumnExpr("COALESCE(SUM(u.completion_tokens), 0) AS completion_tokens").
		ColumnExpr("COALESCE(SUM(u.cost_micros), 0) AS cost_micros").
		ColumnExpr("COALESCE(SUM(CASE WHEN u.outcome IN (?, ?) THEN 0 ELSE 1 END), 0) AS errors",
			string(storage.OutcomeOK), string(storage.OutcomeCancelled)).
		ColumnExpr("MAX(u.at) AS last_at").
		GroupExpr("1").OrderExpr("1")
	for _, j := range sc.joins {
		sel = sel.Join(j)
	}
	if !q.Since.IsZero() {
		sel = sel.Where("u.at >= ?", nanos(q.Since))
	}
	return sel
}
