package gormdb

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"
)

// way is how a segment is read.
type way struct {
	kind  wayKind
	weeks int // for byWeeks
	steps int // for walk
}

type wayKind int

const (
	collect wayKind = iota
	byWeeks
	walk
)

const (
	// veryFew are collected sooner than anything else is thought of.
	veryFew = 200
	// fewMatches are collected in about 2 ms.
	fewMatches = 2_500
	// walkWindow bounds how far a walk is expected to go.
	walkWindow = 20_000
	maxWeeks   = 26
)

// choose picks the way for want rows of so many expected matches, which cost
// the planner's cost to collect, in a table of so many listings and weeks.
func choose(want, matches, cost, table, weeks float64, words bool) way {
	// Twice what is needed on average, because listings do not come evenly.
	steps := 2 * want * table / max(matches, 1)
	switch {
	case matches > max(veryFew, want) && steps < 2*matches:
		return way{kind: walk, steps: int(2 * steps)}
	case matches <= max(fewMatches, want):
		return way{kind: collect}
	}
	span := int(math.Ceil(2*want*weeks/matches)) + 1
	inWeeks := words && span <= maxWeeks && float64(span) < weeks/2
	switch {
	case inWeeks && matches < table/10:
		return way{kind: byWeeks, weeks: span}
	case steps <= walkWindow && steps*4 < cost:
		// Words that exclude each other spoil the estimate: a walk that has found
		// too little after twice as far will not.
		return way{kind: walk, steps: int(2 * steps)}
	case inWeeks:
		return way{kind: byWeeks, weeks: span}
	}
	return way{kind: collect}
}

// direct leaves the way to the planner, which has an index for it.
func (s *search) direct(ctx context.Context, g segment, from *searchCursor, offset, n int) ([]hitRow, error) {
	cols, key := s.columns(), ""
	args := cols.args
	if g.key.sql != "" {
		key = ", " + g.key.sql + " AS key"
		args = slices.Concat(args, g.key.args)
	}
	where := and(g.where, g.after(from))
	order := g.order(g.key.sql)
	query := s.query
	if !s.narrowed {
		query = s.fixedQuery
	}
	return query(ctx, "SELECT "+cols.sql+key+" FROM listings l WHERE "+where.sql+" ORDER BY "+order+" LIMIT ? OFFSET ?",
		append(slices.Concat(args, where.args), n, offset))
}

// walk goes through the newest listings until there are enough. The inner
// query is fenced by its limit: nothing moves in or out of it. The limit is a
// round number, so that there are few such statements.
func (s *search) walk(ctx context.Context, g segment, from *searchCursor, offset, n, steps int) ([]hitRow, error) {
	cols, after := s.columns(), g.after(from)
	inner := and(cond{sql: "l.open"}, after)
	sql := "SELECT " + cols.sql + " FROM (SELECT l.* FROM listings l WHERE " + inner.sql +
		fmt.Sprintf(" ORDER BY %s LIMIT %d) l WHERE ", g.order(""), 1<<bits.Len(uint(steps))) + g.where.sql +
		" ORDER BY " + g.order("") + " LIMIT ? OFFSET ?"
	return s.fixedQuery(ctx, sql, append(slices.Concat(cols.args, inner.args, g.where.args), n, offset))
}

// collect finds all matches, sorts them by what the order needs and only then
// reads the rows of the page. Materialized without ORDER BY or LIMIT, so that
// the planner cannot decide to walk instead.
func (s *search) collect(ctx context.Context, g segment, from *searchCursor, offset, n int, more cond) ([]hitRow, error) {
	where := and(g.where, g.after(from), more)
	key, keyArgs, out := "", []any(nil), ""
	if g.key.sql != "" {
		key, keyArgs, out = ", "+g.key.sql+" AS key", g.key.args, ", k.key"
	}
	cols := s.columns()
	outer := strings.ReplaceAll(g.order("l.key"), "l.", "k.")
	sql := "WITH m AS MATERIALIZED (SELECT l.id, l.posted_at" + key + " FROM listings l WHERE " + where.sql + ")" +
		", k AS (SELECT * FROM m l ORDER BY " + g.order("l.key") + " LIMIT ? OFFSET ?)" +
		" SELECT " + cols.sql + out + " FROM k JOIN listings l ON l.id = k.id ORDER BY " + outer
	args := slices.Concat(keyArgs, where.args, []any{n, offset}, cols.args)
	return s.query(ctx, sql, args)
}

// explain asks the planner how many listings fulfil a condition and what it
// costs to find them.
func (s *search) explain(ctx context.Context, where cond) (rows, cost float64, err error) {
	f, question := s.facts, s.question(segment{where: where})
	f.mu.Lock()
	p, known := f.plans[question]
	f.mu.Unlock()
	if known && s.q.Now.Sub(p.at) < factsAge {
		return p.rows, p.cost, nil
	}
	var raw string
	if err := s.Searches.q(ctx).Raw("EXPLAIN (FORMAT JSON) SELECT 1 FROM listings l WHERE "+where.sql, where.args...).Scan(&raw).Error; err != nil {
		return 0, 0, wrap(err)
	}
	var plans []struct {
		Plan struct {
			Rows float64 `json:"Plan Rows"`
			Cost float64 `json:"Total Cost"`
		} `json:"Plan"`
	}
	if err := json.Unmarshal([]byte(raw), &plans); err != nil || len(plans) == 0 {
		return 0, 0, fmt.Errorf("plan that cannot be read: %w", err)
	}
	p = planned{rows: plans[0].Plan.Rows, cost: plans[0].Plan.Cost, at: s.q.Now}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.plans) >= mostFacts {
		clear(f.plans)
	}
	f.plans[question] = p
	return p.rows, p.cost, nil
}

// size is about how many listings are open and over how many weeks.
func (s *search) size(ctx context.Context) (open, weeks float64, err error) {
	f := s.facts
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.clock.Now().Sub(f.at) < factsAge {
		return f.open, f.weeks, nil
	}
	var r struct {
		Open   float64
		Oldest *time.Time
	}
	err = s.Searches.q(ctx).Raw(`SELECT greatest(c.reltuples, 0) AS open,
		(SELECT posted_at FROM listings WHERE open ORDER BY posted_at, id LIMIT 1) AS oldest
		FROM pg_class c WHERE c.oid = 'listings_open_posted'::regclass`).Scan(&r).Error
	if err != nil {
		return 0, 0, wrap(err)
	}
	f.at, f.open, f.weeks = s.clock.Now(), r.Open, 1
	if r.Oldest != nil {
		f.weeks = float64(weekOf(s.q.Now)-weekOf(*r.Oldest)) + 1
	}
	return f.open, f.weeks, nil
}
