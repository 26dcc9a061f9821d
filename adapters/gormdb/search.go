package gormdb

import (
	"context"
	"runtime"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/listings"
)

// Searches implements listings.Search. A result is made of segments, each in
// an order of its own, one after the other: title matches and the rest, paid
// and unpaid, near and nowhere. Pages and cursors run through them.
type Searches struct {
	*DB
	words *vocabulary
	facts *facts
}

// q hides DB's: a search has as many shapes as texts have.
func (d Searches) q(ctx context.Context) *gorm.DB { return d.unprepared(ctx) }

// cond is a condition with its arguments.
type cond struct {
	sql  string
	args []any
}

func and(conds ...cond) cond { return joined(" AND ", conds) }
func or(conds ...cond) cond  { return joined(" OR ", conds) }
func not(c cond) cond        { return cond{"NOT (" + c.sql + ")", c.args} }

func joined(by string, conds []cond) cond {
	var out cond
	n := 0
	for _, c := range conds {
		if c.sql == "" {
			continue
		}
		if n++; n > 1 {
			out.sql += by
		}
		out.sql += "(" + c.sql + ")"
		out.args = append(out.args, c.args...)
	}
	return out
}

// search is one query under way.
type search struct {
	Searches
	q    listings.Query
	text matcher
	// filters are all conditions but the words.
	filters   cond
	narrowed  bool     // there is some condition beyond being public
	spatial   bool     // a condition is about distance
	corrected int      // how many words were taken for typos
	literals  []string // the phrases that are looked for word for word
	// expected is how many listings the planner expects, negative before it
	// was asked.
	expected float64
	// known is the total if it was found out a moment ago.
	known *totalled
}

// Slots is how many searches leave room for everything else: half of the
// connections of the smaller of the pools that they use, and on SQLite, which
// searches in this process, half of the processors.
func (d Searches) Slots() int {
	if d.pg() {
		return fixedConnections / 2
	}
	return max(1, runtime.GOMAXPROCS(0)/2)
}

// Find implements listings.Search.
func (d Searches) Find(ctx context.Context, q listings.Query) (page.Result[listings.Hit], error) {
	out := page.Result[listings.Hit]{Items: []listings.Hit{}}
	// Read before the database is, so that what is remembered is never older
	// than it says.
	asked, changes := d.clock.Now(), d.listingChanges.Load()
	if len(q.Text.Clauses) > 0 {
		if err := d.words.refreshWithin(ctx); err != nil {
			return out, err
		}
	}
	s := search{Searches: d, q: q, expected: -1}
	s.text = s.matcher(q.Text)
	s.filters = s.filterConds()
	segments := s.segments()
	question := s.question(s.all())
	s.known = s.facts.recall(question, asked, changes)
	var from *searchCursor
	if q.Page.Cursor != "" {
		from = &searchCursor{}
		if !readCursor(q.Page.Cursor, list(q), from) || from.Segment < 0 || from.Segment >= len(segments) || !from.Key.fits(q.Sort, segments[from.Segment]) {
			return out, errCursor
		}
	}
	rows, err := s.fetch(ctx, segments, from)
	if err != nil {
		return out, err
	}
	if len(rows) > q.Page.Size {
		rows = rows[:q.Page.Size]
		last := rows[len(rows)-1]
		c := searchCursor{Segment: last.Segment, Key: last.Key, ID: last.Row.Short.ID}
		if last.Row.Short.PostedAt != nil {
			c.PostedAt = *last.Row.Short.PostedAt
		}
		out.NextCursor = writeCursor(list(q), c)
	}
	if out.Items, err = s.hits(ctx, rows, segments); err != nil || q.WithoutTotal {
		return out, err
	}
	switch {
	case len(rows) > 0 && rows[0].Total > 0:
		out.Total, out.TotalIsEstimate = rows[0].Total, rows[0].Total > page.MaxExact
	case s.known != nil:
		out.Total, out.TotalIsEstimate = s.known.n, s.known.estimate
	default:
		if out.Total, out.TotalIsEstimate, err = s.total(ctx); err != nil {
			return out, err
		}
	}
	if s.known == nil {
		s.facts.remember(question, totalled{n: out.Total, estimate: out.TotalIsEstimate, at: asked, changes: changes})
	}
	// A page that is there is counted, whatever the estimate says.
	if seen := q.Page.Offset() + len(rows); from == nil && out.Total < seen && len(rows) > 0 {
		out.Total = seen
	}
	return out, err
}

// fetch reads one row more than the page has.
func (s *search) fetch(ctx context.Context, segments []segment, from *searchCursor) (rows []hitRow, err error) {
	need, offset, first := s.q.Page.Size+1, s.q.Page.Offset(), 0
	if from != nil {
		offset, first = 0, from.Segment
	}
	if s.pg() && s.elaborate() {
		few, err := s.isFew(ctx)
		if err != nil {
			return nil, err
		}
		if few {
			return s.gather(ctx, segments, from, offset, need)
		}
	}
	for n := first; n < len(segments) && len(rows) < need; n++ {
		var after *searchCursor
		if from != nil && n == from.Segment {
			after = from
		}
		got, err := s.read(ctx, segments[n], after, offset, need-len(rows))
		if err != nil {
			return nil, err
		}
		for i := range got {
			got[i].Segment = n
		}
		rows = append(rows, got...)
		switch {
		case offset == 0:
		case len(got) > 0:
			offset = 0
		default:
			skipped, err := s.count(ctx, segments[n], offset)
			if err != nil {
				return nil, err
			}
			offset = max(0, offset-skipped)
		}
	}
	return rows, nil
}

// segments divides the result as its order asks.
func (s *search) segments() []segment {
	date := func(column tier, hits float64) segment {
		fts, words := s.text.ordered(s, column)
		return segment{fts: fts, where: and(words, s.filters), rough: and(s.text.roughly(s.dialect, column), s.filters), hits: hits, reverse: s.q.Ascending}
	}
	whole := func(hits float64) segment {
		g := date(anywhere, hits)
		g.whole = true
		return g
	}
	keyed := func(key cond, asc bool, more cond) segment {
		g := date(anywhere, 0)
		g.where, g.key, g.asc = and(g.where, more), key, asc
		return g
	}
	switch s.q.Sort {
	case listings.ByRelevance:
		if s.text.empty() {
			return []segment{whole(1)}
		}
		return []segment{date(inTitle, 1), date(beyondTitle, 0.5)}
	case listings.BySalary:
		return []segment{
			keyed(cond{sql: "l.salary_year_max"}, false, cond{sql: "l.salary_year_max IS NOT NULL"}),
			keyed(cond{}, false, cond{sql: "l.salary_year_max IS NULL"}),
		}
	case listings.ByDistance:
		placed := cond{sql: "l.lat IS NOT NULL OR l.remote"}
		return []segment{
			keyed(s.reach(), true, placed),
			keyed(cond{}, false, not(placed)),
		}
	case listings.ByTitle:
		return []segment{keyed(cond{sql: s.dialect.folded("l.title")}, false, cond{})}
	case listings.ByLocation:
		return []segment{
			keyed(cond{sql: s.dialect.folded("l.location")}, false, cond{sql: "l.location <> ''"}),
			keyed(cond{}, false, cond{sql: "l.location = ''"}),
		}
	case listings.ByDate:
	}
	return []segment{whole(0)}
}

// hits turns rows into results.
func (s *search) hits(ctx context.Context, rows []hitRow, segments []segment) ([]listings.Hit, error) {
	titled := map[string]bool{}
	if asked := !s.text.empty() && len(segments) > 0 && segments[0].hits == 0; asked && len(rows) > 0 {
		ids := make([]string, len(rows))
		for i, r := range rows {
			ids[i] = r.Row.Short.ID
		}
		title := s.text.title(s)
		var found []string
		if err := s.Searches.q(ctx).Raw("SELECT l.id FROM listings l WHERE l.id IN ? AND ("+title.sql+")", append([]any{ids}, title.args...)...).Scan(&found).Error; err != nil {
			return nil, wrap(err)
		}
		for _, id := range found {
			titled[id] = true
		}
	}
	out := make([]listings.Hit, len(rows))
	for i, r := range rows {
		l, err := r.Row.listing()
		if err != nil {
			return nil, err
		}
		out[i] = listings.Hit{Listing: l, Relevance: segments[r.Segment].hits, Miles: r.Miles}
		if out[i].Relevance == 0 {
			out[i].Relevance = 1
			if !s.text.empty() && !titled[l.ID] {
				out[i].Relevance = 0.5
			}
		}
	}
	return out, nil
}

// columns are what a result shows, qualified by l.
func (s *search) columns() cond {
	cols := shortColumns
	if s.q.Full {
		cols = fullColumns
	}
	c := cond{sql: cols}
	if s.q.Places && !s.q.Full {
		c.sql += ", l.place_kind, l.city, l.region, l.nation, l.country"
	}
	if s.q.From != nil {
		d := s.miles(s.q.From)
		c.sql += ", " + d.sql + " AS miles"
		c.args = d.args
	}
	return c
}

const (
	// Reading a column costs about as much as finding a row: a list reads what
	// it shows and no more.
	shortColumns = `l.id, l.title, l.company, l.department, l.contract_type, l.employment_type, l.specialty, l.remote, l.location,
	l.salary_min, l.salary_max, l.salary_currency, l.salary_period, l.application_deadline, l.posted_at`
	fullColumns = shortColumns + `, l.organization_id, l.version, l.place_kind, l.city, l.region, l.nation, l.country, l.lat, l.lon,
	l.status, l.open, l.archived_at, l.deleted_at, l.hidden_at, l.created_at, l.updated_at, l.description, l.requirements, l.benefits, l.questions, l.meta`
)
