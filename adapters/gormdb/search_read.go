package gormdb

import (
	"context"
	"slices"
	"strings"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/listings"
)

// read gives up to n rows of a segment, in its order, from the offset or after
// the cursor.
func (s *search) read(ctx context.Context, g segment, from *searchCursor, offset, n int) ([]hitRow, error) {
	if g.key.sql != "" && g.asc {
		return s.readRings(ctx, g, from, offset, n)
	}
	if !s.pg() {
		return s.readSQLite(ctx, g, from, offset, n)
	}
	return s.readPostgres(ctx, g, from, offset, n)
}

// query reads rows by a statement that is planned for its values.
func (s *search) query(ctx context.Context, sql string, args []any) ([]hitRow, error) {
	return s.rows(ctx, s.gorm, sql, args)
}

// fixedQuery is query for a statement whose plan is the same for all values, so
// that Postgres need not think about it again, which takes longer than to run
// it.
func (s *search) fixedQuery(ctx context.Context, sql string, args []any) ([]hitRow, error) {
	return s.rows(ctx, s.fixed, sql, args)
}

func (s *search) rows(ctx context.Context, pool *gorm.DB, sql string, args []any) ([]hitRow, error) {
	var out []hitRow
	var row hitRow
	var fields []any
	err := eachOf(ctx, pool, sql, args, func(rows scanning) error {
		if fields == nil {
			columns, err := columnsOf(rows)
			if err != nil {
				return err
			}
			for _, c := range columns {
				fields = append(fields, row.field(c))
			}
		}
		row = hitRow{}
		err := rows.Scan(fields...)
		out = append(out, row)
		return err
	})
	return out, err
}

// readRings sorts by distance: ever wider rings, until one holds enough. All
// that lies outside of a ring is farther than what is in it. Remote listings
// come in at the radius.
func (s *search) readRings(ctx context.Context, g segment, from *searchCursor, offset, n int) ([]hitRow, error) {
	rings := []float64{s.q.Radius / 4, s.q.Radius / 2}
	if near := s.q.Filters.Near; near == nil || near.Kind != listings.Town {
		rings = append(rings, 2.5*s.q.Radius, 10*s.q.Radius, 40*s.q.Radius)
	}
	for _, radius := range rings {
		if from != nil && from.Key != nil {
			if miles, _ := from.Key.number(); miles > radius {
				continue
			}
		}
		ring, lies := g, s.within(s.q.From, radius)
		if radius > s.q.Radius {
			lies = or(lies, cond{sql: "l.remote"})
		}
		ring.where = and(lies, g.where)
		var rows []hitRow
		var err error
		if s.pg() {
			rows, err = s.collect(ctx, ring, from, offset, n, cond{})
		} else {
			rows, err = s.readSQLite(ctx, ring, from, offset, n)
		}
		if err != nil || len(rows) == n {
			return rows, err
		}
	}
	if s.pg() {
		return s.collect(ctx, g, from, offset, n, cond{})
	}
	return s.readSQLite(ctx, g, from, offset, n)
}

// readSQLite lets the text index lead where there are words: it yields its
// matches in the order of posting, so that reading stops early.
func (s *search) readSQLite(ctx context.Context, g segment, from *searchCursor, offset, n int) ([]hitRow, error) {
	cols, where := s.columns(), and(g.where, g.after(from))
	page := []any{n, offset}
	switch {
	case g.fts != "" && g.key.sql == "":
		args := append(slices.Clone(cols.args), g.fts)
		start := ""
		if from != nil {
			start = "listings_fts.rowid <= coalesce((SELECT seq FROM listings WHERE id = ?), 9e18) AND "
			if g.reverse {
				start = "listings_fts.rowid >= coalesce((SELECT seq FROM listings WHERE id = ?), 0) AND "
			}
			args = append(args, from.ID)
		}
		return s.query(ctx, "SELECT "+cols.sql+matchedListings+start+where.sql+" ORDER BY listings_fts.rowid"+g.date().sql()+" LIMIT ? OFFSET ?",
			slices.Concat(args, where.args, page))
	case g.key.sql == "":
		return s.query(ctx, "SELECT "+cols.sql+" FROM listings l WHERE "+where.sql+" ORDER BY "+g.order("")+" LIMIT ? OFFSET ?",
			slices.Concat(cols.args, where.args, page))
	}
	// Sorted by what an index knows of the rows; the rows themselves are read
	// for the page alone.
	source, match := " FROM listings l WHERE ", []any(nil)
	if g.fts != "" {
		source, match = matchedListings, []any{g.fts}
	}
	return s.query(ctx, "SELECT "+cols.sql+", k.key FROM (SELECT l.id, l.posted_at, "+g.key.sql+" AS key"+source+where.sql+
		" ORDER BY "+g.order("key")+" LIMIT ? OFFSET ?) k JOIN listings l ON l.id = k.id ORDER BY "+strings.ReplaceAll(g.order("l.key"), "l.", "k."),
		slices.Concat(cols.args, g.key.args, match, where.args, page))
}

// matchedListings joins the text index to the other one that has its order and
// all that filters ask for.
const matchedListings = " FROM listings_fts CROSS JOIN listings l INDEXED BY listings_seq_facts ON l.seq = listings_fts.rowid WHERE listings_fts MATCH ? AND "

// elaborate reports conditions that no ordered index answers.
func (s *search) elaborate() bool {
	return !s.text.empty() || len(s.text.none) > 0 || s.spatial || len(s.q.Text.Clauses) > 0 || len(s.q.Filters.LocationWords) > 0 || len(s.q.Filters.Specialties) > 0
}

// all is the whole result as one segment.
func (s *search) all() segment {
	g := segment{}
	g.fts, g.where = s.text.ordered(s, anywhere)
	g.where = and(g.where, s.filters)
	return g
}

// isFew reports whether there are so few matches that they will all be
// counted: then they may as well be found once and for all. Once the total is
// known, it takes very few of them for that to be the shortest way.
func (s *search) isFew(ctx context.Context) (bool, error) {
	if s.known != nil {
		return s.known.n <= veryFew, nil
	}
	var err error
	s.expected, _, err = s.explain(ctx, and(s.text.roughly(s.dialect, anywhere), s.filters))
	return s.expected <= 2*page.MaxExact, err
}

// gather finds all matches, sorts them into their segments and counts them, in
// one statement. Only the rows of the page are read.
func (s *search) gather(ctx context.Context, segments []segment, from *searchCursor, offset, n int) ([]hitRow, error) {
	where := s.all().where
	number, key := cond{sql: "0"}, cond{sql: "NULL::float8"}
	first := segments[0] // all have the same directions
	switch s.q.Sort {
	case listings.ByRelevance:
		if len(segments) > 1 {
			title := s.text.title(s)
			number = cond{"CASE WHEN " + title.sql + " THEN 0 ELSE 1 END", title.args}
		}
	case listings.BySalary:
		number, key = cond{sql: "CASE WHEN l.salary_year_max IS NULL THEN 1 ELSE 0 END"}, cond{sql: "l.salary_year_max::float8"}
	case listings.ByDistance:
		number, key = cond{sql: "CASE WHEN l.lat IS NOT NULL OR l.remote THEN 0 ELSE 1 END"}, first.key
	case listings.ByTitle:
		key = first.key
	case listings.ByLocation:
		number, key = cond{sql: "CASE WHEN l.location <> '' THEN 0 ELSE 1 END"}, first.key
	case listings.ByDate:
	}
	after := cond{sql: "TRUE"}
	if from != nil {
		date := cond{"(k.posted_at, k.id)" + first.date().beyond() + "(?, ?)", []any{from.PostedAt, from.ID}}
		if from.Key != nil {
			date = or(cond{"k.key" + first.rank().beyond() + "?", []any{from.Key.v}}, and(cond{"k.key = ?", []any{from.Key.v}}, date))
		}
		after = or(cond{"k.segment > ?", []any{from.Segment}}, and(cond{"k.segment = ?", []any{from.Segment}}, date))
	}
	order := "k.segment, k.key" + first.rank().sql() + " NULLS LAST, k.posted_at" + first.date().sql() + ", k.id" + first.date().sql()
	cols := s.columns()
	sql := "WITH m AS MATERIALIZED (SELECT l.id, l.posted_at, " + number.sql + " AS segment, " + key.sql + " AS key FROM listings l WHERE " + where.sql + ")" +
		", k AS (SELECT * FROM m k WHERE " + after.sql + " ORDER BY " + order + " LIMIT ? OFFSET ?)" +
		" SELECT " + cols.sql + ", k.segment, k.key, (SELECT count(*) FROM m) AS total FROM k JOIN listings l ON l.id = k.id ORDER BY " + order
	args := slices.Concat(number.args, key.args, where.args, after.args, []any{n, offset}, cols.args)
	rows, err := s.query(ctx, sql, args)
	for i := range rows { // a segment without a key of its own has none in its cursor
		if segments[rows[i].Segment].key.sql == "" {
			rows[i].Key = nil
		}
	}
	return rows, err
}

// Postgres is told which way to go: its planner, which does not know that the
// newest matches are enough, takes seconds for some words.
//
//	collect  all matches by the best index, then sort: few matches
//	weeks    the same for the newest weeks alone: some matches
//	walk     newest first until there are enough: many matches
//
// All three are exact. Where the estimate was wrong and weeks or walk find too
// little in their bounds, collect has the last word.
func (s *search) readPostgres(ctx context.Context, g segment, from *searchCursor, offset, n int) ([]hitRow, error) {
	if g.key.sql != "" && g.asc {
		return s.collect(ctx, g, from, offset, n, cond{})
	}
	if g.key.sql != "" || !s.elaborate() {
		return s.direct(ctx, g, from, offset, n)
	}
	matches, cost, err := s.explain(ctx, and(g.rough, g.after(from)))
	if err != nil {
		return nil, err
	}
	if s.known != nil && g.whole && from == nil { // better than the planner's guess
		matches = float64(s.known.n)
	}
	table, weeks, err := s.size(ctx)
	if err != nil {
		return nil, err
	}
	switch way := choose(float64(offset+n), matches, cost, table, weeks, s.text.all != "" && !g.reverse); way.kind {
	case walk:
		rows, err := s.walk(ctx, g, from, offset, n, way.steps)
		if err != nil || len(rows) == n {
			return rows, err
		}
	case byWeeks:
		newest := weekOf(s.q.Now)
		if from != nil {
			newest = weekOf(from.PostedAt)
		}
		span := make([]int64, way.weeks)
		for i := range span {
			span[i] = newest - int64(i)
		}
		rows, err := s.collect(ctx, g, from, offset, n, cond{"l.posted_week IN ?", []any{span}})
		if err != nil || len(rows) == n {
			return rows, err
		}
	case collect:
	}
	return s.collect(ctx, g, from, offset, n, cond{})
}
