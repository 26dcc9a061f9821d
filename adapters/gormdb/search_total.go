package gormdb

import (
	"context"
	"math"
	"slices"

	"github.com/locumhq/locum/core/page"
)

// sureEstimate is how many the planner must expect before they are not even
// counted up to page.MaxExact.
const sureEstimate = 4 * page.MaxExact

// total counts the result: exactly up to page.MaxExact, about beyond.
func (s *search) total(ctx context.Context) (int, bool, error) {
	all := s.all()
	estimate := 0.0
	if s.pg() {
		var err error
		switch {
		case s.expected >= 0:
			estimate = s.expected
		case !s.narrowed && !s.elaborate():
			estimate, _, err = s.size(ctx)
		default:
			estimate, _, err = s.explain(ctx, all.where)
		}
		if err != nil {
			return 0, false, err
		}
		if estimate > sureEstimate {
			return int(estimate), true, nil
		}
	}
	if !s.pg() {
		return s.totalSQLite(ctx, all)
	}
	n, err := s.count(ctx, all, page.MaxExact+1)
	if err != nil || n <= page.MaxExact {
		return n, false, err
	}
	return max(n, int(estimate)), true, nil
}

// count counts a segment up to a limit.
func (s *search) count(ctx context.Context, g segment, limit int) (int, error) {
	var sql string
	args := g.where.args
	switch {
	case s.pg():
		sql = "WITH m AS MATERIALIZED (SELECT 1 FROM listings l WHERE " + g.where.sql + ") SELECT count(*) FROM (SELECT 1 FROM m LIMIT ?) c"
	case g.fts != "":
		sql = "SELECT count(*) FROM (SELECT 1" + matchedListings + g.where.sql + " LIMIT ?)"
		args = append([]any{g.fts}, args...)
	default:
		sql = "SELECT count(*) FROM (SELECT 1 FROM listings l WHERE " + g.where.sql + " LIMIT ?)"
	}
	var n int
	err := s.Searches.q(ctx).Raw(sql, append(slices.Clone(args), limit)...).Scan(&n).Error
	return n, wrap(err)
}

// totalSQLite counts, for want of a planner that could estimate. What is known
// to be well beyond page.MaxExact is an estimate anyway and counted only now
// and then.
func (s *search) totalSQLite(ctx context.Context, g segment) (int, bool, error) {
	key := s.question(g)
	f := s.facts
	f.mu.Lock()
	c, known := f.counts[key]
	f.mu.Unlock()
	if known && s.clock.Now().Sub(c.at) < factsAge {
		return c.n, true, nil
	}
	n, err := s.count(ctx, g, page.MaxExact+1)
	if err != nil || n <= page.MaxExact {
		return n, false, err
	}
	if n, err = s.count(ctx, g, math.MaxInt32); err != nil || n <= page.MaxExact*11/10 {
		return n, true, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.counts) > 256 {
		clear(f.counts)
	}
	f.counts[key] = counted{n: n, at: s.clock.Now()}
	return n, true, nil
}
