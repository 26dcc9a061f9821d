package gormdb

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

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

// segment is one stretch of a result.
type segment struct {
	where cond
	// rough is where without what the planner would misjudge.
	rough cond
	// fts is the part of the words that SQLite's text index answers in the
	// order of dates; empty on Postgres.
	fts string
	// key is what comes before the date in the order, empty for nothing; asc
	// turns it round, and reverse the whole order.
	key     cond
	asc     bool
	reverse bool
	hits    float64 // the relevance of its listings, 0 if they have to be asked
}

// date and rank are the directions of the order's date and key.
func (g segment) date() direction { return direction(g.reverse) }
func (g segment) rank() direction { return direction(g.asc != g.reverse) }

// direction is of an order, true for up.
type direction bool

func (d direction) sql() string {
	if d {
		return " ASC"
	}
	return " DESC"
}

// beyond compares with the last value seen.
func (d direction) beyond() string {
	if d {
		return " > "
	}
	return " < "
}

// sortKey is a number or a text.
type sortKey struct{ v any }

// Scan implements sql.Scanner.
func (k *sortKey) Scan(v any) error {
	switch v := v.(type) {
	case int64:
		k.v = float64(v)
	case []byte:
		k.v = string(v)
	default:
		k.v = v
	}
	return nil
}

// MarshalJSON implements json.Marshaler.
func (k *sortKey) MarshalJSON() ([]byte, error) { return json.Marshal(k.v) }

// UnmarshalJSON implements json.Unmarshaler.
func (k *sortKey) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &k.v) }

// number is the key as a number, false if it is a text.
func (k *sortKey) number() (float64, bool) {
	x, ok := k.v.(float64)
	return x, ok
}

// hitRow is a listing with its place in the order.
type hitRow struct {
	Row     fullListingRow `gorm:"embedded"`
	Miles   *float64
	Segment int
	Key     *sortKey
	// Total is how many there are altogether, if the query that found the
	// listing had to find them all.
	Total int
}

// field is where a column of a result goes. Scanning by hand takes half as long
// as letting GORM find the fields, and this is the hottest read of all.
func (r *hitRow) field(column string) any { //nolint:cyclop // long and simple
	l, f := &r.Row.Short, &r.Row
	switch column {
	case "id":
		return &l.ID
	case "title":
		return &l.Title
	case "company":
		return &l.Company
	case "department":
		return &l.Department
	case "contract_type":
		return &l.ContractType
	case "employment_type":
		return &l.EmploymentType
	case "specialty":
		return &l.Specialty
	case "remote":
		return &l.Remote
	case "location":
		return &l.Location
	case "salary_min":
		return &l.SalaryMin
	case "salary_max":
		return &l.SalaryMax
	case "salary_currency":
		return &l.SalaryCurrency
	case "salary_period":
		return &l.SalaryPeriod
	case "application_deadline":
		return &l.ApplicationDeadline
	case "posted_at":
		return &l.PostedAt
	case "organization_id":
		return &l.OrganizationID
	case "version":
		return &l.Version
	case "place_kind":
		return &l.PlaceKind
	case "city":
		return &l.City
	case "region":
		return &l.Region
	case "nation":
		return &l.Nation
	case "country":
		return &l.Country
	case "lat":
		return &l.Lat
	case "lon":
		return &l.Lon
	case "status":
		return &l.Status
	case "open":
		return &l.Open
	case "archived_at":
		return &l.ArchivedAt
	case "deleted_at":
		return &l.DeletedAt
	case "created_at":
		return &l.CreatedAt
	case "updated_at":
		return &l.UpdatedAt
	case "description":
		return &f.Description
	case "requirements":
		return &f.Requirements
	case "benefits":
		return &f.Benefits
	case "questions":
		return &f.Questions
	case "meta":
		return &f.Meta
	case "miles":
		return &r.Miles
	case "segment":
		return &r.Segment
	case "key":
		return &r.Key
	case "total":
		return &r.Total
	}
	return new(any) // a column that only the query itself needed
}

// searchCursor is where a result goes on.
type searchCursor struct {
	Segment  int
	Key      *sortKey `json:",omitempty"`
	PostedAt time.Time
	ID       string
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

// Find implements listings.Search.
func (d Searches) Find(ctx context.Context, q listings.Query) (page.Result[listings.Hit], error) {
	out := page.Result[listings.Hit]{Items: []listings.Hit{}}
	// Read before the database is, so that what is remembered is never older
	// than it says.
	asked, changes := d.clock.Now(), d.listingChanges.Load()
	if len(q.Text.Clauses) > 0 {
		if err := d.words.refresh(ctx, true); err != nil {
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

// fits reports whether a cursor's key is of the kind that the segment sorts by.
func (k *sortKey) fits(sort listings.Sort, g segment) bool {
	if k == nil || g.key.sql == "" {
		return k == nil && g.key.sql == ""
	}
	_, number := k.number()
	return number != (sort == listings.ByTitle || sort == listings.ByLocation)
}

// list names the order that a cursor belongs to.
func list(q listings.Query) string {
	if q.Ascending {
		return string(q.Sort) + "-asc"
	}
	return string(q.Sort)
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
	keyed := func(key cond, asc bool, more cond) segment {
		g := date(anywhere, 0)
		g.where, g.key, g.asc = and(g.where, more), key, asc
		return g
	}
	switch s.q.Sort {
	case listings.ByRelevance:
		if s.text.empty() {
			return []segment{date(anywhere, 1)}
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
	return []segment{date(anywhere, 0)}
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
	l.status, l.open, l.archived_at, l.deleted_at, l.created_at, l.updated_at, l.description, l.requirements, l.benefits, l.questions, l.meta`
)

// order is the ORDER BY of a segment, by the columns of l and of k.
func (g segment) order(key string) string {
	date := "l.posted_at" + g.date().sql() + ", l.id" + g.date().sql()
	if g.key.sql == "" {
		return date
	}
	return key + g.rank().sql() + ", " + date
}

// after is the keyset condition of a cursor.
func (g segment) after(c *searchCursor) cond {
	if c == nil {
		return cond{}
	}
	date := cond{"(l.posted_at, l.id)" + g.date().beyond() + "(?, ?)", []any{c.PostedAt, c.ID}}
	if g.key.sql == "" {
		return date
	}
	beyond := cond{g.key.sql + g.rank().beyond() + "?", append(slices.Clone(g.key.args), c.Key.v)}
	same := cond{g.key.sql + " = ?", append(slices.Clone(g.key.args), c.Key.v)}
	return or(beyond, and(same, date))
}

// filterConds are the conditions beside the words.
func (s *search) filterConds() cond {
	f := s.q.Filters
	conds := []cond{{"l.open AND (l.application_deadline IS NULL OR l.application_deadline > ?)", []any{s.q.Now}}}
	add := func(sql string, args ...any) { conds = append(conds, cond{sql, args}) }
	if f.Near != nil {
		conds = append(conds, s.near(*f.Near))
	}
	if len(f.LocationWords) > 0 {
		conds = append(conds, s.located(f.LocationWords))
	}
	if f.ContractType != "" {
		add("l.contract_type = ?", f.ContractType)
	}
	if f.EmploymentType != "" {
		add("l.employment_type = ?", f.EmploymentType)
	}
	if len(f.Specialties) > 0 {
		conds = append(conds, s.specialty(f.Specialties))
	}
	if f.SalaryMin != nil {
		add("l.salary_year_max >= ?", *f.SalaryMin)
	}
	if f.SalaryMax != nil {
		add("l.salary_year_min <= ?", *f.SalaryMax)
	}
	if f.Remote != nil {
		if *f.Remote {
			add("l.remote")
		} else {
			add("NOT l.remote")
		}
	}
	if f.PostedAfter != nil {
		add("l.posted_at > ?", *f.PostedAfter)
	}
	for _, c := range s.q.Text.Clauses {
		if !c.Plain() {
			conds = append(conds, s.mixed(c))
		}
	}
	s.narrowed = len(conds) > 1
	return and(conds...)
}

// mixed is a clause that something other than words may fulfil.
func (s *search) mixed(c listings.Clause) cond {
	var parts []cond
	for _, p := range c.Near {
		parts = append(parts, s.near(p))
	}
	if len(c.ContractTypes) > 0 {
		parts = append(parts, cond{"l.contract_type IN ?", []any{c.ContractTypes}})
	}
	if len(c.EmploymentTypes) > 0 {
		parts = append(parts, cond{"l.employment_type IN ?", []any{c.EmploymentTypes}})
	}
	if c.Remote {
		parts = append(parts, cond{sql: "l.remote"})
	}
	for _, t := range c.Terms {
		x := s.matcher(listings.Text{Clauses: []listings.Clause{{Terms: []listings.Term{t}}}}).body(s)
		switch t.Unstated {
		case listings.NoContractType:
			x = and(cond{sql: "l.contract_type = ''"}, x)
		case listings.NoEmploymentType:
			x = and(cond{sql: "l.employment_type = ''"}, x)
		case listings.Stated:
		}
		parts = append(parts, x)
	}
	return or(parts...)
}

// specialty is the condition that the listing's own has one of the names, or
// has it among other words.
func (s *search) specialty(names []string) cond {
	parts := []cond{{"l.specialty_key IN ?", []any{names}}}
	for _, n := range names {
		term := listings.Term{Words: strings.Fields(n), Adjacent: true}
		words := s.matcher(listings.Text{Clauses: []listings.Clause{{Terms: []listings.Term{term}}}}).body(s)
		if words.sql != "" {
			parts = append(parts, and(words, cond{`' ' || l.specialty_key || ' ' LIKE ? ESCAPE '\'`, []any{"% " + likePattern.Replace(n) + " %"}}))
		}
	}
	return or(parts...)
}

// located is a location that no gazetteer knows: all of its words.
func (s *search) located(words []string) cond {
	term := listings.Term{Words: words}
	conds := []cond{s.matcher(listings.Text{Clauses: []listings.Clause{{Terms: []listings.Term{term}}}}).body(s)}
	for _, w := range words {
		if ascii(w) && !listings.StopWord(w) {
			conds = append(conds, cond{`lower(l.location) LIKE ? ESCAPE '\'`, []any{"%" + likePattern.Replace(w) + "%"}})
		}
	}
	if len(words) == 1 && words[0] == "remote" {
		return or(and(conds...), cond{sql: "l.remote"})
	}
	return and(conds...)
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > 0x7f })
}

const earthMiles = 3958.7613

// near is the condition of lying in the place, or within the radius of a town.
// What is done from anywhere is near everywhere.
func (s *search) near(p listings.Place) cond {
	var c cond
	switch {
	case p.Kind == listings.Town:
		s.spatial = true
		c = s.within(&p, s.q.Radius)
	case p.Kind == listings.Country:
		c = cond{"l.country = ?", []any{p.Country}}
	case len(p.Regions) > 0:
		c = cond{"l.country = ? AND l.region IN ?", []any{p.Country, p.Regions}}
	case p.Region != "":
		c = cond{"l.country = ? AND l.region = ?", []any{p.Country, p.Region}}
	default:
		c = cond{"l.country = ? AND l.nation = ?", []any{p.Country, p.Nation}}
	}
	return or(c, cond{sql: "l.remote"})
}

// within is a box, which an index answers, and the circle in it.
func (s *search) within(p *listings.Place, radius float64) cond {
	deg := radius / earthMiles * 180 / math.Pi
	box := cond{"l.lat BETWEEN ? AND ?", []any{p.Lat - deg, p.Lat + deg}}
	if edge := math.Abs(p.Lat) + deg; edge < 89 {
		wide := math.Asin(math.Min(1, math.Sin(deg*math.Pi/180)/math.Cos(p.Lat*math.Pi/180))) * 180 / math.Pi
		west, east := p.Lon-wide, p.Lon+wide
		lon := cond{"l.lon BETWEEN ? AND ?", []any{west, east}}
		switch {
		case west < -180:
			lon = or(lon, cond{"l.lon >= ?", []any{west + 360}})
		case east > 180:
			lon = or(lon, cond{"l.lon <= ?", []any{east - 360}})
		}
		box = and(box, lon)
	}
	d := s.miles(p)
	// The centres of towns stand with three decimals.
	return and(box, cond{d.sql + " <= ?", append(d.args, radius+0.01)})
}

// miles is the distance of a listing from the place (haversine).
func (s *search) miles(p *listings.Place) cond {
	least := "least"
	if !s.pg() {
		least = "min"
	}
	return cond{
		fmt.Sprintf("(%v * asin(sqrt(%s(1.0, power(sin(radians(l.lat - ?) / 2), 2) + ? * cos(radians(l.lat)) * power(sin(radians(l.lon - ?) / 2), 2)))))", 2*earthMiles, least),
		[]any{p.Lat, math.Cos(p.Lat * math.Pi / 180), p.Lon},
	}
}

// reach is the distance by which results are sorted: a remote listing is at
// most the radius away.
func (s *search) reach() cond {
	d, least := s.miles(s.q.From), "least"
	if !s.pg() {
		least = "min"
	}
	args := slices.Concat([]any{s.q.Radius}, d.args, []any{s.q.Radius}, d.args)
	return cond{"CASE WHEN l.remote THEN " + least + "(?, coalesce(" + d.sql + ", ?)) ELSE " + d.sql + " END", args}
}

// facts are what is remembered of the table for a while.
type facts struct {
	mu     sync.Mutex
	at     time.Time
	open   float64 // how many listings are open, about
	weeks  float64 // over how many weeks they were posted
	counts map[string]counted
	totals map[string]totalled
	plans  map[string]planned
}

// totalled is the total of a search. It holds for a moment, and no longer than
// until this process writes listings.
type totalled struct {
	n        int
	estimate bool
	at       time.Time
	changes  uint64
}

// planned is what the planner expects of a condition.
type planned struct {
	rows, cost float64
	at         time.Time
}

const (
	totalAge = time.Second
	// mostFacts bounds what is remembered of each kind.
	mostFacts = 1024
)

// question tells apart what is asked, whenever it is asked.
func (s *search) question(g segment) string {
	args := slices.DeleteFunc(slices.Clone(g.where.args), func(a any) bool { return a == any(s.q.Now) })
	return fmt.Sprintf("%s\x00%s\x00%#v", g.fts, g.where.sql, args)
}

func (f *facts) recall(question string, now time.Time, changes uint64) *totalled {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t, ok := f.totals[question]; ok && t.changes == changes && now.Sub(t.at) < totalAge {
		return &t
	}
	return nil
}

func (f *facts) remember(question string, t totalled) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.totals) >= mostFacts {
		clear(f.totals)
	}
	f.totals[question] = t
}

type counted struct {
	n  int
	at time.Time
}

const factsAge = 30 * time.Second

func newFacts() *facts {
	return &facts{counts: map[string]counted{}, totals: map[string]totalled{}, plans: map[string]planned{}}
}
